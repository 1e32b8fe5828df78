"""Whether two sessions say the same: `--against`. Compared are ratios, each of times of one session, as the machine's
speed is another one every hour. Student's 90 % intervals of the means, as the paper has them."""

import collections
import dataclasses

from . import ReportError, experiments, names, numbers

MEASURES = ("mean_stretch",)
HEADER = ("experiment", "case", "MPI", "scheduler", "figure", "here", "there", "overlap")


@dataclasses.dataclass(frozen=True)
class Figure:
    """A mean with its interval, in both sessions."""

    experiment: str
    case: str
    mpi: str
    scheduler: str
    name: str
    here: object  # Statistic
    there: object

    @property
    def overlaps(self):
        """None where one of the two has no interval."""
        if self.here.t is None or self.there.t is None:
            return None
        return self.here.t[0] <= self.there.t[1] and self.there.t[0] <= self.here.t[1]


def _statistics(row, baseline):
    """(what it is called, Statistic) of the row's ratios."""
    for name in MEASURES:
        yield names.measure(name)[0], row.measures.get(name)
    if row.scheduler != baseline:
        for name, statistic in row.ratios.items():
            yield f"{names.measure(name)[0]} / {baseline}", statistic


def _figures(results):
    """{what it is: Statistic} of everything that two sessions can be compared by."""
    found = {}
    for experiment in experiments.ordered(results.experiments):
        for row in experiments.shared(experiment):
            case = experiments.case_label(experiment, (row.workload, row.value))
            for name, statistic in _statistics(row, experiment.baseline):
                if statistic is not None and statistic.mean is not None:
                    found[(experiment.name, case, names.mpi(row.mpi), row.scheduler, name)] = statistic
    return found


def compare(here, there):
    """Figures that both model.Results have, in the order of `here`."""
    own, other = _figures(here), _figures(there)
    found = [Figure(*key, own[key], other[key]) for key in own if key in other]
    if not found:
        raise ReportError("--against: the two have no figure in common; name sessions that ran the same experiments")
    return found


def _mean(statistic):
    return numbers.plain(statistic.mean) + (f" ({numbers.interval(statistic.t)})" if statistic.t else "")


def rows(figures):
    """The lines of a table, heading first."""
    words = {True: "yes", False: "NO", None: "one run"}
    return [HEADER, *((figure.experiment, figure.case, figure.mpi, figure.scheduler, figure.name,
                       _mean(figure.here), _mean(figure.there), words[figure.overlaps]) for figure in figures)]


def verdict(figures):
    """One sentence."""
    counted = collections.Counter(figure.overlaps for figure in figures)
    told = counted[True] + counted[False]
    if not told:
        return "No interval: one of the two has single runs only."
    return (f"{counted[True]} of {numbers.count(told, 'figure')} agree: their 90 % intervals overlap."
            + (f" {numbers.count(counted[None], 'figure')} of single runs not counted." if counted[None] else ""))
