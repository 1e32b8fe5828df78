"""What part of the time each job would have if the time were shared as fairly as can be.

Two jobs of one node cannot be out together, and a job is out on all its nodes at once: so of jobs of which every two
meet somewhere one is out at a time, and their parts are 1 together at most. The fair parts are the max-min ones under
these conditions: nobody's can be made larger but at the cost of somebody who has no more. (For a ring of five jobs
or more of which each meets two, that is more than can be had.)
"""

import itertools


def cliques(meets, chosen, open_, done):
    """Maximal sets of jobs of which every two meet, by Bron and Kerbosch. `meets`: {job: jobs that it meets}."""
    if not open_ and not done:
        yield chosen
    for job in sorted(open_):
        yield from cliques(meets, chosen | {job}, open_ & meets[job], done & meets[job])
        open_, done = open_ - {job}, done | {job}


def fair_parts(nodes):
    """{job: part of the time}, of the sets of jobs that the nodes have: all parts grow together, and who is in a
    clique that is full stays at what he has."""
    jobs = set().union(*nodes)
    meets = {job: set() for job in jobs}
    for one, other in itertools.chain.from_iterable(itertools.permutations(node, 2) for node in nodes):
        meets[one].add(other)
    bounds = list(cliques(meets, set(), set(jobs), set()))
    parts = {}
    while open_ := [clique for clique in bounds if clique - parts.keys()]:
        levels = [(1 - sum(parts.get(job, 0) for job in clique)) / len(clique - parts.keys()) for clique in open_]
        level = min(levels)
        parts.update({job: level for job in open_[levels.index(level)] - parts.keys()})
    return parts
