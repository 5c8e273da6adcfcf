"""Base of patterns whose traffic is read from a file."""

from typing import Any

from fabricstudy.core.errors import StudyError
from fabricstudy.core.input_files import FromFile

from ..messages import WorkloadError


class TrafficFile(FromFile):
    """A file in the study's folder; if it is missing later, the point fails and not its batch."""

    def listed(self) -> Any:
        """Return the content of the file.

        Raises WorkloadError if the file is missing or has changed, or this point was read from a record.
        """
        try:
            return self.content()
        except StudyError as error:
            raise WorkloadError(str(error)) from None
