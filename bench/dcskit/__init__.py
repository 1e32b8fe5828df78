"""The comparison that bench/run_dcs.sh makes. See README.md."""
