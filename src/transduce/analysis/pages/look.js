// @ts-check
// The page of one output: its sections in order.

/**
 * @typedef {object} LookFacts
 * @property {string} model
 * @property {"translation" | "language" | "classification" | "tagging" | "answering" | "encoder"} task
 * @property {Sentence | null} source
 * @property {Sentence} target
 * @property {string[]} read
 * @property {AttentionMaps[]} attention
 * @property {Confidence[]} confidence
 * @property {Alignment | null} alignment
 * @property {Occlusion | null} occlusion
 * @property {{attributions: (number | null)[], error: number | null} | null} gradient
 * @property {(number | null)[] | null} attended
 * @property {{attention: number | null, gradient: number | null} | null} agreement
 * @property {Search | null} search
 * @property {"nats" | "score"} unit
 */

/** @type {Record<LookFacts["task"], string>} */
const PAGE_KINDS = {
  translation: "How a model translated a sentence",
  language: "How a language model wrote a text",
  classification: "How a model judged a text",
  tagging: "How a model tagged a text",
  answering: "How a model answered a question",
  encoder: "How a model read a text",
};

{
  const facts = /** @type {LookFacts} */ (readFacts());
  const sections = [outputSection(facts)];
  if (facts.attention.length) sections.push(attentionSection(facts));
  if (facts.search && facts.search.nodes.length) sections.push(searchSection(facts.search, facts.target.direction));
  const leaveOut = leaveOutSection(facts);
  if (leaveOut) sections.push(leaveOut);
  fillPage(PAGE_KINDS[facts.task], facts.model, sections);
}
