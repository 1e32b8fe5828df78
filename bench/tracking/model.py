"""The time to suspend a busy task by signals: equation (9) of Franke, Moreira & Pattnaik, section 4."""


def suspend_time(processes, cpus, tick, retry):
    """Of a task of so many processes on so many CPUs, with a clock tick and a retry interval in the unit of the result.

    One of the CPUs is taken to be the scheduler's. The quotient is rounded up before it is multiplied by the interval:
    a process that stops between two looks is seen at the second."""
    total = 0.
    for active in range(1, processes + 1):
        running = min(active, cpus)
        probability = min(1., (cpus - 1) / active)
        looks = -(-((2 * active - running) * tick) // (2 * running * retry))
        total += probability * looks * retry
    return total
