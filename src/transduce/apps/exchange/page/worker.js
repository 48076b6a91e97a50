// The part of the page that translates, in a thread of its own; `startEngine(Module)` runs the engine's script.

(() => {
  "use strict";

  // Products of 8-bit matrices: what the engine imports, and its own functions that a browser without native ones takes.
  const PRODUCTS = {
    int8_prepare_a: "int8PrepareAFallback",
    int8_prepare_b: "int8PrepareBFallback",
    int8_prepare_b_from_transposed: "int8PrepareBFromTransposedFallback",
    int8_prepare_b_from_quantized_transposed: "int8PrepareBFromQuantizedTransposedFallback",
    int8_prepare_bias: "int8PrepareBiasFallback",
    int8_multiply_and_add_bias: "int8MultiplyAndAddBiasFallback",
    int8_select_columns_of_b: "int8SelectColumnsOfBFallback",
  };
  const MODEL_ALIGNMENT = 256; // bytes
  const FILE_ALIGNMENT = 64;

  let translate = null;

  function started(program) {
    return new Promise((resolve, reject) => {
      const Module = {
        print: () => {},
        printErr: () => {},
        onAbort: (reason) => reject(new Error(String(reason))),
        onRuntimeInitialized: () => resolve(Module),
        instantiateWasm: (imports, accept) => {
          const product = (name) => (...given) => Module.asm[name](...given);
          const products = Object.entries(PRODUCTS).map(([name, own]) => [name, product(own)]);
          WebAssembly.instantiate(program, { ...imports, wasm_gemm: Object.fromEntries(products) }).then(
            ({ instance }) => accept(instance),
            reject,
          );
          return {};
        },
      };
      startEngine(Module);
    });
  }

  async function load(files, settings) {
    const contents = {};
    for (const [name, text] of Object.entries(files)) contents[name] = await unpacked(text);
    const engine = await started(contents.engine);
    const held = (content, alignment) => {
      const memory = new engine.AlignedMemory(content.length, alignment);
      memory.getByteArrayView().set(content);
      return memory;
    };
    const vocabularies = new engine.AlignedMemoryList();
    vocabularies.push_back(held(contents.source, FILE_ALIGNMENT));
    if (contents.target) vocabularies.push_back(held(contents.target, FILE_ALIGNMENT));
    const shortlist = contents.shortlist ? held(contents.shortlist, FILE_ALIGNMENT) : null;
    const model = held(contents.model, MODEL_ALIGNMENT);
    const translator = new engine.TranslationModel(settings, model, shortlist, vocabularies, null);
    const service = new engine.BlockingService({ cacheSize: 0 });
    return (text) => {
      const texts = new engine.VectorString();
      const options = new engine.VectorResponseOptions();
      texts.push_back(text);
      options.push_back({ qualityScores: false, alignment: false, html: false });
      const responses = service.translate(translator, texts, options);
      const response = responses.get(0);
      const target = response.getTranslatedText();
      for (const used of [response, responses, options, texts]) used.delete();
      return target;
    };
  }

  self.addEventListener("message", async ({ data }) => {
    try {
      if (data.files) {
        translate = await load(data.files, data.settings);
        self.postMessage({ ready: true });
      } else {
        self.postMessage({ source: data.text, target: translate(data.text) });
      }
    } catch (error) {
      self.postMessage({ error: String(error?.message ?? error) });
    }
  });
})();
