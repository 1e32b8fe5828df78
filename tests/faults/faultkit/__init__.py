"""Faults of the node daemon, injected while jobs run. See ../README.md."""


class CampaignError(Exception):
    """Why a campaign cannot be run; only the command line prints it and ends."""
