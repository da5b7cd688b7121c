"""tools/check_layers accepts what the layers allow and names the file and line of what they do not."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_layers"


def check(path, line):
    """Exit code and complaints for a tree that has one file with one include."""
    with tempfile.TemporaryDirectory() as root:
        file = Path(root, path)
        file.parent.mkdir(parents=True)
        file.write_text(f"#pragma once\n{line}\n")
        result = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
        return result.returncode, result.stderr


class CheckLayers(unittest.TestCase):
    def test_allowed(self):
        for path, line in [
            ("starling/core/a.h", "#include <immintrin.h>"),
            ("starling/core/a.h", '#include "starling/core/b.h"'),
            ("starling/collective/a.cpp", '#include "starling/transport/shm.h"'),
            ("starling/strategy/a.cpp", '#include "starling/transport/transport.h"'),
            ("starling/session/a.cpp", '#include "starling/transport/shm.h"'),
            ("starling/strategy/a.h", '#include "starling/record/span.h"'),
            ("starling/sim/a.cpp", '#include "starling/transport/network.h"'),
            ("starling/sim/a.cpp", '#include "starling/transport/link.h"'),
            ("starling/sim/a.cpp", "#include <toml++/toml.h>"),
            ("starling/data/a.cpp", '#include "starling/record/atomic_file.h"'),
            ("starling/data/a.cpp", "#include <zlib.h>"),
            ("starling/tuning/a.cpp", "#include <Eigen/Cholesky>"),
            ("starling/tuning/a.cpp", '#include "starling/core/random.h"'),
            ("starling/join/a.cpp", "#include <asio/ip/tcp.hpp>"),
            ("starling/session/worker/a.cpp", '#include "starling/join/run_context.h"'),
            ("starling/launch/a.cpp", '#include "starling/join/rendezvous_server.h"'),
            ("starling/sim/a.cpp", '#include "starling/cluster/cluster.h"'),
            ("starling/strategy/a.h", '#include "starling/tuning/a.h"'),
            ("starling/torch/a.cpp", "#include <torch/torch.h>"),
            ("starling/transport/wire/mpi.cpp", "#include <mpi.h>"),
            ("starling/starling.h", '#include "starling/session/session.h"'),
            ("cli/a.cpp", "#include <spdlog/spdlog.h>"),
            ("tests/coordination/a_test.cpp", "#include <Eigen/Dense>"),
            ("tests/sim/a_test.cpp", '#include "starling/transport/shm.h"'),
        ]:
            with self.subTest(path=path, line=line):
                self.assertEqual(check(path, line), (0, ""))

    def test_refused(self):
        for path, line in [
            ("starling/core/a.h", '#include "starling/runtime/task.h"'),
            ("starling/core/a.cpp", "#include <spdlog/spdlog.h>"),
            ("starling/runtime/a.cpp", '#  include "starling/transport/transport.h"'),
            ("starling/transport/a.cpp", "#include <nlohmann/json.hpp>"),
            ("starling/transport/shm.cpp", "#include <mpi.h>"),
            ("starling/optim/a.h", '#include "starling/runtime/task.h"'),
            ("starling/strategy/a.h", '#include "starling/transport/shm.h"'),
            ("starling/strategy/a.h", '#include "starling/sim/universe.h"'),
            ("starling/sim/a.h", '#include "starling/session/session.h"'),
            ("starling/data/a.h", '#include "starling/record/run_folder.h"'),
            ("starling/data/a.h", "#include <zlib.h>"),
            ("starling/data/a.cpp", "#include <torch/torch.h>"),
            ("starling/record/a.cpp", "#include <zlib.h>"),
            ("starling/tuning/a.h", "#include <Eigen/Cholesky>"),
            ("starling/tuning/a.cpp", "#include <nlohmann/json.hpp>"),
            ("starling/tuning/a.cpp", '#include "starling/runtime/task.h"'),
            ("starling/collective/a.cpp", '#include "starling/tuning/a.h"'),
            ("starling/strategy/a.cpp", "#include <Eigen/Dense>"),
            ("starling/sim/a.cpp", "#include <Eigen/Dense>"),
            ("starling/session/a.h", "#include <asio.hpp>"),
            ("starling/session/a.cpp", "#include <asio/ip/tcp.hpp>"),
            ("starling/join/a.cpp", '#include "starling/session/session.h"'),
            ("starling/launch/a.cpp", '#include "starling/session/session.h"'),
            ("starling/cluster/a.h", '#include "starling/sim/universe.h"'),
            ("starling/transport/a.cpp", "#include <asio/ip/tcp.hpp>"),
            ("starling/session/a.h", "#include <torch/torch.h>"),
            ("starling/session/a.h", '#include "starling/starling.h"'),
            ("starling/session/a.h", '#include "sibling.h"'),
            ("starling/novelty/a.h", '#include "starling/core/error.h"'),
            ("starling/stray.h", "#include <vector>"),
            ("cli/a.cpp", "#include <mpi.h>"),
            ("bench/a.cpp", "#include <ucp/api/ucp.h>"),
        ]:
            with self.subTest(path=path, line=line):
                code, complaints = check(path, line)
                self.assertEqual(code, 1)
                self.assertTrue(complaints.startswith(f"{path}:2: "), complaints)


if __name__ == "__main__":
    unittest.main()
