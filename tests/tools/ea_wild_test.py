"""The functions of bench/papers/ea_wild: times by formula, borders between solvers, and how runs are summed up."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench" / "papers"), str(ROOT / "tools")]
import solver_map  # noqa: E402
from solver_races import NO_OVERLAP, RACES, solvers_of  # noqa: E402
from solver_theory import advantage, borders, first, mean_of_slowest, predicted_borders, step_times  # noqa: E402
from solvers import EA_WILD, FAMILIES, HOGWILD, NEVER, NINE, PLAIN, SYNC_SGD, Setting, median, ratio  # noqa: E402


class TheoryTest(unittest.TestCase):
    def test_without_communication_only_the_slowest_counts(self):
        times = step_times(16, 3, 1e-9, 2704)
        for name in ("Sync SGD", "Sync EASGD"):
            self.assertAlmostEqual(times[name], 3, places=6)
        for name in ("Async SGD", "Async EASGD", "EA-wild"):
            self.assertAlmostEqual(times[name], 1, places=6)

    def test_a_server_carries_everybodys_models(self):
        # Of two workers an all-reduce sends M each; of 16, a model takes 8 / 15 of the time of an all-reduce.
        self.assertEqual(step_times(2, 1, 10, 2704)["Async SGD"], 1 + 2 * 2 * 10)
        self.assertAlmostEqual(step_times(16, 1, 15, 2704)["Async EASGD"], 2 * 16 * 8)

    def test_the_slowest(self):
        self.assertAlmostEqual(mean_of_slowest(16, 0), 1)
        self.assertAlmostEqual(mean_of_slowest(16, 0, 4), 4)
        # The expected maximum of two of these: 2 Phi(sigma / sqrt 2), with sigma = 1.
        self.assertAlmostEqual(mean_of_slowest(2, 1), 1.5205, delta=0.03)

    def test_borders_lie_where_the_sign_changes(self):
        self.assertEqual(borders([1, 10, 100], [1, 2, 3]), [])
        self.assertAlmostEqual(borders([1, 100], [-1, 1])[0], 10)
        self.assertEqual(len(borders([1, 10, 100], [-1, 1, -1])), 2)
        self.assertAlmostEqual(borders([1, 100], [-float("inf"), 1])[0], 10)

    def test_the_formula_finds_the_crossing(self):
        # (4 + r) 1 = 2 max(1, r): at r = 4; below, the asynchronous solver is ahead.
        steps = {"Sync SGD": 1, "EA-wild": 2}
        found = predicted_borders(16, 4, (steps, steps), {"Sync SGD"}, 1e12, 0.01, 100)
        self.assertEqual(len(found), 1)
        self.assertAlmostEqual(found[0], 4, delta=0.05)
        # With half the steps where communication takes longer, the asynchronous one is ahead everywhere.
        self.assertEqual(predicted_borders(16, 4, (steps, {"Sync SGD": 1, "EA-wild": 1}), {"Sync SGD"}, 1e12, 0.01, 100),
                         [])

    def test_who_is_ahead(self):
        times = {"Sync SGD": 1.0, "EA-wild": 2.0, "Async SGD": 3.0}
        self.assertEqual(first(times), "Sync SGD")
        self.assertGreater(advantage(times, {"Sync SGD"}), 0)
        self.assertEqual(advantage({"Sync SGD": NEVER, "EA-wild": NEVER}, {"Sync SGD"}), 0)
        self.assertEqual(advantage({"Sync SGD": NEVER, "EA-wild": 1}, {"Sync SGD"}), -NEVER)


class SolversTest(unittest.TestCase):
    def test_rates_of_steps_that_add_up_are_divided(self):
        self.assertEqual(Setting(0.9, 0.8).words(PLAIN, 8), ["--momentum", "0.9", "--lr", "0.1"])
        self.assertEqual(Setting(0, 0.8).words(SYNC_SGD, 8), ["--momentum", "0", "--lr", "0.8"])

    def test_only_elastic_solvers_have_an_alpha(self):
        self.assertEqual(Setting(0, 0.8, "0.5").words(EA_WILD, 8)[-2:], ["--alpha", "0.5"])
        self.assertNotIn("--alpha", Setting(0, 0.8, "0.5").words(SYNC_SGD, 8))

    def test_medians(self):
        self.assertEqual(median([3, 1, 2]), 2)
        self.assertEqual(median([NEVER, 1]), 1)
        self.assertEqual(median([NEVER, NEVER, 1]), NEVER)
        self.assertEqual(median([]), NEVER)
        self.assertIsNone(ratio(NEVER, 1))

    def test_nine_and_the_families(self):
        self.assertEqual(len({solver.name for solver in NINE}), 9)
        workers_and_families = [(place.workers, len(place.families)) for place in solver_map.places(False)]
        self.assertNotIn((256, len(FAMILIES)), workers_and_families)
        self.assertLessEqual({solver.name for solver in FAMILIES}, set(step_times(16, 1, 1, 2704)))

    def test_links_leave_out_what_needs_common_memory(self):
        without_links, linked = RACES
        self.assertIn(HOGWILD, solvers_of(without_links))
        self.assertNotIn(HOGWILD, solvers_of(linked))
        self.assertIn(NO_OVERLAP, solvers_of(linked))


class MapTest(unittest.TestCase):
    def test_the_best_setting_of_each(self):
        found = {(EA_WILD, Setting(0, 1)): 5, (EA_WILD, Setting(0, 3)): 4, (PLAIN, Setting(0, 1)): NEVER}
        best = solver_map.best_settings(found)
        self.assertEqual(best, {"EA-wild": Setting(0, 3), "Async SGD": Setting(0, 1)})

    def test_borders_agree_within_a_factor(self):
        self.assertTrue(solver_map.within([1, 10], [1.9, 6], 2))
        self.assertFalse(solver_map.within([1], [2.1], 2))
        self.assertFalse(solver_map.within([1], [], 2))

    def test_replays(self):
        # 204 MB at 1.25 GB/s, beside a step of 0.218 s.
        self.assertAlmostEqual(solver_map.replay_ratio(*solver_map.REPLAYS[0][1:]), 0.75, places=2)


if __name__ == "__main__":
    unittest.main()
