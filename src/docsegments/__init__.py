"""Documents as segments of text with inline marks, and back: translated by any function, without a model.

from docsegments import DocumentTranslator

DocumentTranslator(lambda texts: [text.upper() for text in texts]).translate_file("letter.docx", "new.docx")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docsegments.document import Languages as Languages
    from docsegments.document_formats import read_document as read_document
    from docsegments.memory import Memory as Memory
    from docsegments.translating.document_translator import DocumentTranslator as DocumentTranslator
    from docsegments.user_errors import UserError as UserError

_MODULES = {
    "DocumentTranslator": "docsegments.translating.document_translator",
    "Languages": "docsegments.document",
    "Memory": "docsegments.memory",
    "read_document": "docsegments.document_formats",
    "UserError": "docsegments.user_errors",
}
"""The module of each public name, which is imported on first use."""

__all__ = ["DocumentTranslator", "Languages", "Memory", "read_document", "UserError"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'docsegments' has no attribute '{name}'")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
