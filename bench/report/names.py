"""What things are called for people, and which colour stands for which scheduler, in every figure."""

import re

# At least 3 : 1 against both backgrounds of the page, which leaves too little lightness to tell all of them apart with
# any colour vision: lines have markers besides, and bars are in the order of the key.
COLOURS = {
    "dedicated": "#7a7a7a",
    "dedicated-cosched": "#4f94c4",
    "fcfs": "#a0569b",
    "uncoordinated": "#d55e00",
    "yield": "#00946b",
    "gang": "#9a7b00",
    "cosched": "#0077bb",
    # Of bench/run_dcs.sh.
    "spin": "#d55e00",
    "spin-block": "#9a7b00",
    "dcs-spin": "#a0569b",
    "dcs-spin-block": "#00946b",
    "dcs": "#0077bb",
    "yoo-jette": "#4b62d6",
}
VARIANTS = ("#4b62d6", "#00879e", "#8a63d2")  # of cosched: other policies, other time-slices
SPARE_COLOURS = ("#9a7b00", "#a0569b", "#b5495b", "#668b2b")

LABELS = {
    "dedicated": "alone",
    "dedicated-cosched": "alone, with cosched",
    "fcfs": "queue (FCFS)",
    "uncoordinated": "uncoordinated",
    "yield": "MPI yields",
    "gang": "gang",
    "cosched": "coscheduled",
    "spin": "no DCS, spin only",
    "spin-block": "no DCS, spin-block",
    "dcs-spin": "DCS, spin only",
    "dcs-spin-block": "DCS, spin-block",
    "dcs": "DCS, calibrated",
    "yoo-jette": "Yoo & Jette",
}
EXPLANATIONS = {
    "dedicated": "one job at a time has the nodes to itself: the best that it can do",
    "dedicated-cosched": "one job at a time, with cosched running: what cosched itself costs",
    "fcfs": "jobs wait in a queue, first come, first served, and then have the nodes to themselves",
    "uncoordinated": "jobs share the nodes, and each node's kernel decides by itself who runs",
    "yield": "jobs share the nodes; a process that waits gives its CPU away, a setting of the MPI library itself",
    "gang": "all nodes switch between jobs together, by a common table",
    "cosched": "jobs share the nodes, and cosched, the system that is measured here, makes all processes of a job run at the same moment",
    "spin": "each node's kernel decides by itself who runs; a process that waits for a message spins",
    "spin-block": "each node's kernel decides by itself who runs; a process that waits for a message spins, then blocks",
    "dcs-spin": "dynamic coscheduling as in the paper, E = -1, C = 0; a process that waits spins",
    "dcs-spin-block": "dynamic coscheduling as in the paper, E = 2, C = 100 ms; a process that waits spins, then blocks",
    "dcs": "dynamic coscheduling with cosched's defaults: calibrated, waiting as it finds best",
    "yoo-jette": "cosched's default policy, the nodes' timers aligned",
}
ORDER = list(LABELS)

MPIS = {"mpich": "MPICH", "openmpi": "Open MPI"}

# What each measure is: (name for people, unit).
MEASURES = {
    "mean_response_s": ("mean response time", "s"),
    "mean_wait_s": ("mean wait", "s"),
    "mean_stretch": ("mean stretch", ""),
    "mean_fair_stretch": ("mean fair stretch", ""),
    "worst_stretch": ("worst stretch", ""),
    "makespan_s": ("time until the last job ended", "s"),
    "throughput_per_h": ("jobs per hour", ""),
    "cpu_s": ("CPU time", "s"),
    "fairness": ("fairness F", ""),
    "hogs_part": ("what hogs have of a CPU each", ""),
    "coscheduled_fraction": ("fraction of time coscheduled", ""),
    "switches_per_s": ("switches per second", ""),
    "requests": ("requests", ""),
    "granted": ("requests granted", ""),
    "discarded": ("requests discarded", ""),
    "false": ("requests falsely made", ""),
    "response_s": ("response time", "s"),
    "stretch": ("stretch", ""),
    "fair_stretch": ("fair stretch", ""),
}


def scheduler_key(name):
    """Sorts schedulers: the known ones in a fixed order, what we are about last; others between."""
    if is_cosched(name):
        return (2, name != "cosched", name)
    return (0, ORDER.index(name), name) if name in ORDER else (1, 0, name)


def schedulers(found):
    """The distinct names of `found`, in the order in which they are shown."""
    return sorted(set(found), key=scheduler_key)


def colours(found):
    """{scheduler: colour} for all schedulers of a report."""
    found = schedulers(found)
    table = {name: COLOURS[name] for name in found if name in COLOURS}
    for is_variant, spare in ((False, SPARE_COLOURS), (True, (*VARIANTS, *SPARE_COLOURS))):
        unknown = [name for name in found if name not in COLOURS and is_cosched(name) == is_variant]
        unused = [colour for colour in spare if colour not in table.values()] or spare
        table.update((name, unused[place % len(unused)]) for place, name in enumerate(unknown))
    return table


def is_cosched(name):
    """Whether the scheduler is cosched or a variant of it."""
    return re.match(r"cosched($|[:@+])", name) is not None


def _variant(name):
    """(policy, time-slice, settings) of cosched:dcs@500ms+scheduler.idle_share=2%, in words; None of what is no variant."""
    variant = re.fullmatch(r"cosched(?::(?P<policy>[^@+]+))?(?:@(?P<number>[0-9.]+)(?P<unit>[a-z]+))?"
                           r"(?P<settings>(?:\+[^+=]+=[^+]+)*)", name)
    if name in LABELS or not variant:
        return None
    settings = [" = ".join(one.partition(".")[2].split("=", 1)) for one in variant["settings"].split("+")[1:]]
    return variant["policy"], f"{variant['number']} {variant['unit']}" if variant["unit"] else None, settings


def scheduler(name):
    """"coscheduled by dcs, slice 500 ms, idle_share = 2%" of cosched:dcs@500ms+scheduler.idle_share=2%."""
    variant = _variant(name)
    if variant is None:
        return LABELS.get(name, name)
    policy, time_slice, settings = variant
    return ", ".join([f"coscheduled by {policy}" if policy else "coscheduled", *([f"slice {time_slice}"] if time_slice else []), *settings])


def explanation(name):
    """One clause, or an empty text."""
    variant = _variant(name)
    if variant is None:
        return EXPLANATIONS.get(name, "")
    policy, time_slice, settings = variant
    return ", ".join(["as coscheduled", *([f"by policy {policy}"] if policy else []),
                      *([f"each turn of {time_slice}"] if time_slice else []), *(f"with {one}" for one in settings)])


def mpi(name):
    return MPIS.get(name, name)


def mpi_key(name):
    return (list(MPIS).index(name) if name in MPIS else len(MPIS), name)


def mpis(found):
    return sorted(set(found), key=mpi_key)


def workload(name):
    """"workload-2" as "Workload 2", "mpl-sp" as "SP"; every other name as it is."""
    match = re.fullmatch(r"(workload|mpl)-([0-9a-z]+)", name)
    if not match:
        return name
    return f"Workload {match[2]}" if match[1] == "workload" else match[2].upper()


def measure(name):
    """(name for people, unit)."""
    return MEASURES.get(name, (name.replace("_", " "), ""))
