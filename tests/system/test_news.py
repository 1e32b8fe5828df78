"""What one side has to learn of the other: that classd has another slice than timerd; that a client has not heard
that it is a member."""

import daemonkit
from daemonkit import TIMERD, Node, classes, quota


class AnotherSlice(Node):
    settings = {"scheduler__time_slice": "200ms", "scheduler__gmet": "100ms"}

    def test_timerd_follows_a_restarted_classd(self):
        """Its next tick is an hour away."""
        self.start(TIMERD)
        self.eventually(lambda: self.ctl_json("status")["switches"] > 0, "timerd asks")
        self.configure(scheduler__time_slice="1h")
        self.assertEqual(self.ctl("reload").returncode, 0)
        self.eventually(lambda: "time slice 3600.000 s" in self.log_text(), "timerd follows a reload")
        self.kill_classd()
        self.configure()
        self.classd = self.start_classd()
        self.eventually(lambda: self.ctl_json("status")["switches"] > 2, "timerd asks at the new slice")


class Deaf(Node):
    def test_whose_registration_cannot_be_answered_is_no_member(self):
        self.job("a")
        client = self.client()
        self.assertIs(client.register_deaf("b"), False)
        self.eventually(lambda: self.ctl_json("status")["processes"] == 1, "it is none")
        self.eventually(lambda: classes() == ["job-0-a"], "nor is its class kept")
        self.assertEqual(quota("a"), -1)
        client.connect()
        self.assertEqual(client.register("b")["status"], 0)


if __name__ == "__main__":
    daemonkit.main()
