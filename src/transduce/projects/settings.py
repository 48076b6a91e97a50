"""Settings of a project, in its `project.toml`."""

from transduce.config import Settings
from transduce.projects.learning_settings import LearningSettings


class ProjectSettings(Settings, frozen=True, kw_only=True):
    """A project's languages, the files that it watches, and how it learns."""

    source: str
    """Language of the sources, as the model names it."""
    target: str
    """Language of the translations."""
    watch: tuple[str, ...] = ()
    """Files (.tmx, .po, .xliff) whose final units the server confirms as they change, such as OmegaT's
    project_save.tmx; a relative name is within the project's folder."""
    learning: LearningSettings = LearningSettings()
    """Settings of learning."""
