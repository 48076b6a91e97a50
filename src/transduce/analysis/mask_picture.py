"""Shows an attention mask: a line for each query, a mark for each key that it may attend to."""

from dataclasses import dataclass
from html import escape

from transduce.base.errors import InputError
from transduce.nn.masks import AttentionMask

MAY, MAY_NOT = "■", "·"
LARGEST = 64  # queries or keys of which pictures are drawn


@dataclass(frozen=True, repr=False)
class MaskPicture:
    """The mask of one row and head, as text and, in a notebook, as HTML."""

    may_attend: list[list[bool]]
    """The mask, [queries][keys]."""

    def __repr__(self) -> str:
        return "\n".join("".join(MAY if may else MAY_NOT for may in query) for query in self.may_attend)

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks; colours say the same as the marks."""
        cell = '<td title="query {}, key {}" style="width: 12px; height: 12px; padding: 0; background: {}"></td>'
        rows = (
            "".join(cell.format(query, key, "#4c72b0" if may else "#eeeeee") for key, may in enumerate(keys))
            for query, keys in enumerate(self.may_attend)
        )
        title = escape(f"{len(self.may_attend)} queries (down) x {len(self.may_attend[0])} keys (across)")
        return (
            f'<div>{title}</div><table style="border-spacing: 1px">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'
        )


def show_mask(mask: AttentionMask | None, queries: int = 1, row: int = 0, head: int = 0) -> MaskPicture:
    """Draws a mask as `transduce.nn.masks` makes it: [rows, heads, queries, keys], True for "may attend".

    Args:
        mask: it may have one row, head or query for all of them, and be None where nothing is hidden.
        queries: how many queries to draw of a mask that has one for all.
        row: which row of the batch.
        head: which head.

    Raises InputError for a mask that is too large to look at.
    """
    if mask is None:
        return MaskPicture([[True] * queries] * queries)
    chosen = mask[min(row, len(mask) - 1), min(head, mask.shape[1] - 1)]
    if len(chosen) == 1:
        chosen = chosen.expand(queries, -1)
    if max(chosen.shape) > LARGEST:
        raise InputError(
            f"a mask of {len(chosen)} queries and {chosen.shape[1]} keys; pictures have {LARGEST} of each at most"
        )
    return MaskPicture(chosen.tolist())
