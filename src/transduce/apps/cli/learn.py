"""`transduce learn`: translations that people finished in files become confirmed segments of a project."""

from pathlib import Path
from typing import Annotated

from transduce.apps.cli.options import Json
from transduce.apps.cli.printing import print_json
from transduce.base.errors import InputError, TransduceError


def learn(
    project: Annotated[Path, "PROJECT"],
    files: Annotated[list[str], "FILE..."],
    *,
    from_: str | None = None,
    to: str | None = None,
    json: Json = False,
) -> None:
    """Confirm the final translations of TMX, PO or XLIFF files in a project, which a server then learns from.

    Only units that are new, or changed since the file was last given, are confirmed: the command can be repeated as
    the files grow, also while a server has the project open. Drafts, fuzzy units and those that need a review wait.

    Example: `transduce learn projects/shop project_save.tmx --from en --to de`

    Args:
        project: The folder of the project; with both languages it is made if it is missing.
        files: Files with translations that people finished.
        from_: The language of the sources, for a new project.
        to: The language of the translations, for a new project.
    """
    from docsegments.document import Languages
    from transduce.apps.projects.project import Project, check_languages, check_name
    from transduce.apps.projects.project_files import final_units, learn_file
    from transduce.apps.projects.project_settings import ProjectSettings

    is_new = not project.exists()
    if is_new and (from_ is None or to is None):
        raise InputError(f"{project}: there is no such project; name its languages with --from and --to to make it")
    if is_new:
        assert from_ is not None and to is not None
        settings = ProjectSettings(source=from_, target=to)
        check_name(project.name)
        check_languages(from_, to)
        for file in files:  # all are read before the project is made
            final_units(Path(file).absolute(), Languages(from_, to))
        opened = Project.create(project, settings)
    else:
        opened = Project.open(project)
    try:
        for given, actual in ((from_, opened.source), (to, opened.target)):
            if given not in (None, actual):
                raise InputError(
                    f"{project} is from {opened.source} to {opened.target}, not with {given!r}; leave it out"
                )
        added, failures = {}, []
        for file in files:
            try:
                added[file] = len(learn_file(opened, file))
            except TransduceError as error:
                failures.append(error)
        count = opened.store.count()
    finally:
        opened.close()
    if json:
        print_json({"project": str(project), "confirmed": added, "segments": count})
    elif added:
        for file, number in added.items():
            print(f"{file}: {number:,} new or changed")
        print(f"{project} has {count:,} confirmed segments")
    if failures:
        raise failures[0]
