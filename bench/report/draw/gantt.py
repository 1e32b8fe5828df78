"""Jobs against time: each job has a row, and in it a strip for each node."""

from . import canvas as page
from .canvas import Box, Canvas

NARROW_PX = 500
MOST_NAMED = 24  # more jobs than that are numbered only
DETAIL = 1200  # gaps shorter than this part of the time axis cannot be seen
VISIBLE_S = 0.05
MOST_STRIPS = 12000  # more make a page slow


def draw(figure, width, colours):
    """A Canvas of the width."""
    canvas = Canvas(width, colours)
    until = max(_until(panel.chart) for panel in figure.panels)
    gap_s = joinable(figure.panels, until / DETAIL)
    running = "running, a strip for each node"
    if gap_s > until / DETAIL:
        running += f" (but for gaps below {gap_s:.2g} s)"
    legend = [(running, page.PALE, 1), ("started, but not its turn", page.PALE, 0.25)]
    if not any(panel.chart.spans for panel in figure.panels):
        legend = []
    top = page.heading(canvas, figure.title, legend)
    if any(_waits(job) for panel in figure.panels for job in panel.chart.jobs):
        canvas.swatch(Box(8, top - 1, 20, top + 1), page.PALE)
        canvas.text(26, top, "there, but not started yet")
        top += page.LEGEND_LINE_PX
    names = [job.job for panel in figure.panels for job in panel.chart.jobs] or [""]
    named = max(len(panel.chart.jobs) for panel in figure.panels) <= MOST_NAMED
    label_px = min(width * 0.3, max(page.width_of(name, page.SMALL_PX) for name in names) + 12) if named else 36
    for number, panel in enumerate(figure.panels):
        lane = lane_height(len(panel.chart.jobs), panel.chart.nodes)
        last = number == len(figure.panels) - 1
        box = Box(label_px, top + 26, width - 14, top + 26 + lane * max(1, len(panel.chart.jobs)))
        _panel(canvas, panel, box, lane, until, number, named)
        top = box.bottom + (44 if last else 26)
        if last:
            canvas.text((box.left + box.right) / 2, box.bottom + 34, "seconds since the start", "center",
                        page.SMALL_PX)
        canvas.raw("plot " + ", ".join(_plots(canvas, panel, number, gap_s, colours[panel.scheduler])))
        canvas.end_panel()
    canvas.height = top
    return canvas


def _waits(job):
    """Whether its waiting can be seen."""
    return job.arrival_s is not None and job.start_s is not None and job.start_s > job.arrival_s + VISIBLE_S


def lane_height(jobs, nodes):
    """Pixels of one job's row."""
    return min(26, 12 * nodes, 640 / max(1, jobs))


def _until(chart):
    ends = [chart.duration_s or 0, *(job.end_s or 0 for job in chart.jobs), *(span[3] for span in chart.spans)]
    return max(ends) or 1


def joinable(panels, gap_s):
    """`gap_s`, or the least multiple of it with which there are not too many strips."""
    for _ in range(DETAIL.bit_length()):  # then a gap is as long as the axis
        if sum(len(joined(panel.chart.spans, gap_s)) for panel in panels) <= MOST_STRIPS:
            break
        gap_s *= 2
    return gap_s


def joined(spans, gap_s):
    """Spans with those of one node and job joined that are nearer to each other than `gap_s`."""
    found = []
    for span in sorted(spans):
        if found and span[:2] == found[-1][:2] and span[2] - found[-1][3] < gap_s:
            found[-1] = (*found[-1][:3], max(found[-1][3], span[3]))
        else:
            found.append(span)
    return found


def _panel(canvas, panel, box, lane, until, number, named):
    canvas.margins(box)
    canvas.text(6, box.top - 13, page.shortened(panel.title, canvas.width - 12, page.BOLD_PX), bold=True)
    for place, job in enumerate(panel.chart.jobs):
        middle = box.top + (place + 0.5) * lane
        if named:
            canvas.text(box.left - 6, middle, page.shortened(job.job, box.left - 6, page.SMALL_PX), "right",
                        page.SMALL_PX)
        elif place % 10 == 9 or place == 0:
            canvas.text(box.left - 6, middle, str(place + 1), "right", 10)
    count = max(1, len(panel.chart.jobs))
    canvas.raw(f"set xrange [0:{until:.7g}]; set yrange [{count}:0]; set xtics autofreq; unset ytics; set border 1; "
               f"set grid xtics linetype 1 linewidth 0.6 linecolor rgb '#b0{page.PALE[1:]}'")


def is_unrecorded(job, chart):
    """Whether nothing says when it ran, as it is no job of the daemons that have recorded the others."""
    return bool(chart.spans) and job.job.startswith("hog.") and all(span[1] != job.index for span in chart.spans)


def _plots(canvas, panel, number, gap_s, colour):
    chart = panel.chart
    place_of = {job.index: place for place, job in enumerate(chart.jobs)}
    started = [(place_of[job.index], job) for job in chart.jobs if job.start_s is not None and job.end_s is not None]
    alone = not chart.spans
    plots = []
    waits = [(job.arrival_s, place + 0.5, job.start_s - job.arrival_s, 0) for place, job in started if _waits(job)]
    if waits:
        canvas.data(f"waits{number}", waits)
        plots.append(f"$waits{number} using 1:2:3:4 with vectors nohead linewidth 0.8 linecolor rgb '{page.PALE}'")
    for name, unrecorded, style in (("lives", False, "solid 1 noborder" if alone else "transparent solid 0.25 noborder"),
                                    ("frames", True, "empty border")):
        lives = [_rectangle(job.start_s, job.end_s, place + 0.1, place + 0.9) for place, job in started
                 if is_unrecorded(job, chart) == unrecorded]
        if lives:
            canvas.data(f"{name}{number}", lives)
            plots.append(f"${name}{number} using 1:2:3:4:5:6 with boxxyerror linecolor rgb '{colour}' fillstyle {style}")
    strips = [_strip(span, place_of[span[1]], chart.nodes) for span in joined(chart.spans, gap_s)
              if span[1] in place_of and span[0] < chart.nodes]
    if strips:
        canvas.data(f"spans{number}", strips)
        plots.append(f"$spans{number} using 1:2:3:4:5:6 with boxxyerror fillstyle solid 1 noborder "
                     f"linecolor rgb '{colour}'")
    return plots or ["-1"]


def _rectangle(left, right, top, bottom):
    return ((left + right) / 2, (top + bottom) / 2, left, right, top, bottom)


def _strip(span, place, nodes):
    """The node's strip of the job's row, with a gap between nodes."""
    node, _, left, right = span
    share = 0.8 / nodes
    top = place + 0.1 + node * share
    return _rectangle(left, right, top + share * 0.06, top + share * 0.94)
