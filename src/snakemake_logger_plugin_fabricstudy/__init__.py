"""Snakemake's logger plugin ``fabricstudy``: one line a job, what is running, and the time left."""

import atexit
import logging
from dataclasses import dataclass, field

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from fabricstudy.workflow.display import INTERRUPTED, RunDisplay
from fabricstudy.workflow.jobs import forecast_of, read_jobs
from fabricstudy.workflow.snakefile import RESULTS

LOCKED = """\
Another run makes the same files in this folder: wait for it. If it was killed, add --unlock to the command once, and
then repeat the command without it."""


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings of the plugin, which become flags of Snakemake."""

    reports: str = field(
        default="", metadata={"help": "Words about points and reports, shown if there is nothing to do."}
    )
    studies: str = field(default="", metadata={"help": "Names of the studies, separated by commas."})


class LogHandler(LogHandlerBase):
    """Translates Snakemake's events; other records are shown from warnings on."""

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        self._display = RunDisplay(forecast_s=self._forecast_s)
        atexit.register(self._display.close)

    def _forecast_s(self) -> dict[str, float]:
        names = self.settings.studies.split(",") if isinstance(self.settings, LogHandlerSettings) else []
        return forecast_of(jobs for name in names if (jobs := read_jobs(RESULTS / name)))

    def emit(self, record: logging.LogRecord) -> None:
        fields = vars(record)
        match fields.get("event"):
            case LogEvent.RUN_INFO:
                self._display.plan(fields["stats"])
            case LogEvent.JOB_INFO if fields["rule_msg"]:
                self._display.start(fields["jobid"], fields["rule_name"], fields["rule_msg"])
            case LogEvent.JOB_FINISHED:
                self._display.finish(fields["job_id"])
            case LogEvent.JOB_ERROR:
                self._display.fail(fields["jobid"], " ".join(fields["log"]))
            case LogEvent.ERROR if fields.get("exception") == "RuleException":
                pass  # the error of its job says more
            case LogEvent.ERROR if fields.get("exception") == "LockException":
                self._display.say(LOCKED)
            case _ if INTERRUPTED.is_set():
                pass  # the last words say it
            case _ if record.getMessage() == NOTHING_TO_BE_DONE_MSG:  # then the Snakefile's last words are not said
                self._display.say(record.getMessage())
                if isinstance(self.settings, LogHandlerSettings) and self.settings.reports:
                    self._display.say(self.settings.reports)
            case _ if record.levelno >= logging.WARNING:
                self._display.say(record.getMessage())

    def close(self) -> None:
        self._display.close()
        super().close()
