"""What the daemons know of a run: their counters, and who held which node when."""

import json
import os
import subprocess

from . import NasError, gantt, records, store

THEIR_NAMES = {"switches": "switches", "requests": "requests", "granted": "requests_granted",
               "discarded": "requests_discarded"}


class Observer:
    """Of one run: made before it begins."""

    def __init__(self, site, results, scheduler):
        self.site = site
        self.results = results
        self.scheduler = scheduler
        self.before = site.counters()
        if scheduler.cosched:
            site.trace_start()

    def finish(self, run, nodes, origin_wall_s):
        """Adds what was seen to the record; of a first repetition, leaves the chart."""
        dumps = self._dumps()
        check_registered(run, [json.loads(text) for text in dumps])
        files = self._files(dumps)
        run["counters"] = difference(sums(self.before), sums(self.site.counters()))
        run["counters"]["false"] = self._false(files)
        said = next((node for node in self.before if isinstance(node, dict)), {})
        for name in ("time_slice_s", "gmet_s"):
            run[name] = said.get(name)
        run["coscheduled_fraction"] = self._coscheduled(files)
        for path in files:
            os.unlink(path)
        if run["repetition"] == 1 and not self.scheduler.alone:
            self.results.write_json(chart_file(run), gantt.chart(
                run, nodes, [json.loads(text) for text in dumps], origin_wall_s))

    def _dumps(self):
        """The texts of all nodes' traces, or []: no chart, and no coscheduled part, is better than that of half a
        run."""
        texts = self.site.trace_dumps() if self.scheduler.cosched else []
        try:
            traces = [json.loads(text) for text in texts]
        except ValueError:
            return []
        return texts if all(trace and not trace.get("lost") for trace in traces) else []

    def _files(self, dumps):
        """The same as files, for coschedctl; the caller deletes them."""
        files = [self.results.path("logs", f"trace{index}.json") for index in range(len(dumps))]
        for path, text in zip(files, dumps):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return files

    def _say(self, what, files):
        """What `coschedctl trace` prints."""
        if not files:
            return ""
        done = subprocess.run([self.site.control(), "trace", what, *files], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return done.stdout

    def _coscheduled(self, files):
        """The mean over the jobs."""
        return records.mean(float(word) for word in last_words(self._say("coscheduled", files)) if word != "-")

    def _false(self, files):
        """Requests made for a job that no other node had scheduled, of all jobs; below the heading."""
        counts = last_words(self._say("requests", files))[1:]
        return sum(map(int, counts)) if counts else None


def check_registered(run, dumps):
    """Raises NasError when jobs did their work, and classd, whose recordings these are, has seen fewer come: the others
    ran without coordination, and would be told as coscheduled."""
    jobs = [job for job in records.ending(run) if job["verified"]]
    launches = sum(len(job["seconds"]) for job in jobs)
    came = len(gantt.newcomers(dumps)) if dumps else launches
    if came < launches:
        names = ", ".join(dict.fromkeys(job["job"] for job in jobs))
        raise NasError(f"{run['scheduler']}: {came or 'none'} of the {launches} launches of {names} registered with classd, so not "
                       f"all were coscheduled: are their programs linked with the shared library of {run['mpi']}? What they said: logs/{jobs[0]['log']}")


def last_words(text):
    """Of each line about a job. The sequential class is nobody's job: it has a turn on each node by itself."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [words[-1] for words in lines if words[0] != gantt.SEQUENTIAL]


def sums(nodes):
    """Over the nodes, what classd counts; None where one does not count it or has not answered (is None)."""
    return {name: sum(node[theirs] for node in nodes)
            if nodes and all(isinstance(node, dict) and theirs in node for node in nodes) else None
            for name, theirs in THEIR_NAMES.items()}


def difference(before, after):
    """None where it is not known; so it is when a classd has begun to count anew meanwhile."""
    return {name: None if after[name] is None or before[name] is None or after[name] < before[name]
            else after[name] - before[name] for name in after}


def chart_file(run):
    """Of each attempt its own: which of them counts is not known yet when it is written."""
    value = "" if run["value"] is None else f"-{run['value']:.3g}"
    name = f"{run['experiment']}-{run['workload']}{value}-{run['mpi']}-{run['scheduler']}"
    again = f".{run['attempt']}" if run["attempt"] > 1 else ""
    return f"gantt/{store.slug(name)}{again}.json"
