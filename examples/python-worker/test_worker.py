"""`python -m unittest` in this folder: the trust by both clocks of a machine, and the pauses between dials."""

import unittest

from run import DOUBT_SECONDS_MAX, Trust
from session import DIAL_SECONDS_MAX, DIAL_SECONDS_MIN, dial_pause

TRUST = 12.0
HOUR = 3600.0


class Machine:
    """Both of its clocks: `pass_` moves them, `suspend` the wall clock alone."""

    def __init__(self):
        self.monotonic, self.wall = 1000.0, 1_900_000_000.0

    def now(self):
        return self.monotonic

    def ahead(self):
        return self.wall - self.monotonic

    def pass_(self, seconds):
        self.monotonic += seconds
        self.wall += seconds

    def suspend(self, seconds):
        self.wall += seconds


class TrustTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.trust = Trust([0.0, 0.0], self.machine)
        self.assertTrue(self.trust.is_over())
        self.trust.renew(self.trust.sent(), TRUST)

    def expect(self, given, over):
        self.assertEqual((self.trust.is_given(), self.trust.is_over()), (given, over))

    def test_lasts_from_when_the_beat_was_sent(self):
        self.machine.pass_(TRUST - 0.1)
        self.expect(given=True, over=False)
        self.machine.pass_(0.2)
        self.expect(given=False, over=True)

    def test_is_doubted_after_a_suspension_until_the_next_answered_beat(self):
        before = self.trust.sent()
        self.machine.suspend(HOUR)
        self.expect(given=False, over=False)
        self.trust.renew(before, TRUST + 0.1)
        self.expect(given=False, over=False)
        self.trust.renew(self.trust.sent(), TRUST + 0.2)
        self.expect(given=True, over=False)

    def test_is_over_without_an_answer_within_5_s_after_a_suspension(self):
        self.machine.suspend(HOUR)
        self.expect(given=False, over=False)
        self.machine.pass_(DOUBT_SECONDS_MAX - 0.1)
        self.expect(given=False, over=False)
        self.machine.pass_(0.2)
        self.expect(given=False, over=True)

    def test_is_not_doubted_when_the_clock_is_set_back(self):
        self.machine.suspend(-HOUR)
        self.expect(given=True, over=False)


class DialPauseTest(unittest.TestCase):
    def test_is_spread_over_a_part_of_the_trust(self):
        pauses = [dial_pause(False, TRUST) for _ in range(1000)]
        self.assertGreaterEqual(min(pauses), DIAL_SECONDS_MIN)
        self.assertLess(min(pauses), 0.5)
        self.assertGreater(max(pauses), 2.5)
        self.assertLessEqual(max(pauses), TRUST / 4)

    def test_is_short_before_the_next_address_and_bounded_before_the_first_welcome(self):
        self.assertEqual(dial_pause(True, TRUST), DIAL_SECONDS_MIN)
        self.assertLessEqual(dial_pause(False, 0.0, lambda _, longest: longest), DIAL_SECONDS_MAX)


if __name__ == "__main__":
    unittest.main()
