"""From a figure's description to a gnuplot script, and from that to SVG and PNG."""
