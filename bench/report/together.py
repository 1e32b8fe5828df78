"""From the spans of a Gantt: for how long jobs held some of their nodes, but not all of them."""


def held_s(chart):
    """Seconds, added up over nodes, for which some job held a node; more where jobs held it together."""
    return sum(to_s - from_s for _, _, from_s, to_s in chart.spans)


def apart_s(chart):
    """Seconds, added up over nodes, for which a job held a node while another of its nodes was not its own. A job's
    nodes are those that it ever held."""
    by_job = {}
    for node, job, from_s, to_s in chart.spans:
        by_job.setdefault(job, {}).setdefault(node, []).append((from_s, to_s))
    return sum(_apart_s(nodes) for nodes in by_job.values())


def _apart_s(nodes):
    changes = sorted((at_s, step, node) for node, spans in nodes.items() for span in spans
                     for at_s, step in zip(span, (1, -1)))
    held = dict.fromkeys(nodes, 0)
    total_s, last_s = 0.0, 0.0
    for at_s, step, node in changes:
        holders = sum(count > 0 for count in held.values())
        if holders < len(nodes):
            total_s += holders * (at_s - last_s)
        held[node] += step
        last_s = at_s
    return total_s
