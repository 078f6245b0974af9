package org.rdmapanama.samples.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.Program;

/** Commands where files cannot be written, for other users, and with ports that are taken: each works, or says one line. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadHostsTest {
    private static final String READ_ONLY_TREE = """
            mount --bind "$tree" "$tree"
            mount -o remount,ro,bind "$tree"
            """;

    /** Nothing is left where programs usually write. */
    private static final String READ_ONLY = """
            # read-only
            for folder in /tmp /var/tmp /dev/shm /root; do
                [ ! -e "$folder" ] || mount -t tmpfs -o ro tmpfs "$folder"
            done
            """;

    private static final String FULL = """
            for folder in /tmp /var/tmp /dev/shm /root; do
                [ ! -e "$folder" ] || mount -t tmpfs -o size=64k,mode=1777 tmpfs "$folder"
                cat /dev/zero >"$folder/full" 2>/dev/null
            done
            """;

    private static final String NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent ";
    private static final String OTHER = "setpriv --reuid=1 --regid=1 --clear-groups env HOME=/nonexistent ";

    /** Two demos start twenty virtual machines, on a machine that may be busy. */
    private static final int DEMOS_SECONDS = 250;

    private static final String HELLO = "SUCCESS: hello, verbs\n";

    @TempDir
    private static Path parent;

    private static BuiltTree tree;

    @BeforeAll
    static void copyTree() throws Exception {
        assumeTrue(BuiltTree.isPossible(), "this user may have no mounts and network of his own, and not be others");
        tree = new BuiltTree(parent);
    }

    private static void assertPrints(String expected, String script) throws Exception {
        try (Program program = tree.start(script)) {
            assertEquals(0, program.join(), program::toString);
            assertEquals(expected, program.output());
        }
    }

    /** Runs a script whose last command must fail with one line on standard error; what it prints before does not count. */
    private static void assertFails(String line, String script) throws Exception {
        try (Program program =
                tree.start(script + " 2>$work/errors >/dev/null; status=$?; cat $work/errors; exit $status")) {
            assertEquals(1, program.join(), program::toString);
            List<String> lines = program.output().lines().toList();
            assertEquals(1, lines.size(), program::toString);
            assertTrue(lines.getFirst().contains(line), program::toString);
        }
    }

    /** The copy of the tree is in one of the folders that are replaced. */
    private static String keepTree(String script) {
        return """
                mkdir "$work/tree"
                mount --bind "$tree" "$work/tree"
                tree=$work/tree
                """ + script;
    }

    @Test
    void shouldRunInAReadOnlyTree() throws Exception {
        assertPrints(HELLO, READ_ONLY_TREE + "$tree/bin/rdma hello");
    }

    @ParameterizedTest
    @ValueSource(strings = {READ_ONLY, FULL})
    void shouldRunWithoutPlaceForFiles(String condition) throws Exception {
        assertPrints(HELLO, keepTree(condition) + READ_ONLY_TREE + "$tree/bin/rdma hello");
    }

    @ParameterizedTest
    @ValueSource(strings = {READ_ONLY, FULL})
    void shouldSayWhyThereIsNoDemo(String condition) throws Exception {
        assertFails("demo: ", keepTree(condition) + "$tree/bin/demo");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "perf today --size 1MiB --rounds 1",
                "learn 1",
                "selftest -o /tmp/report.md",
                "log replica /tmp/node",
                "--pcap /tmp/packets hello"
            })
    void shouldSayWhatCannotBeWritten(String command) throws Exception {
        assertFails("/tmp", keepTree(FULL) + "$tree/bin/rdma " + command);
    }

    @Test
    void shouldSayThatAFileSystemIsReadOnly() throws Exception {
        assertFails("Read-only file system", keepTree(READ_ONLY) + "$tree/bin/rdma log replica /tmp/node");
    }

    /** Nobody but the owner can build. */
    @Test
    void shouldRunWhatIsBuiltWhereItCannotBeBuilt(@TempDir Path folder) throws Exception {
        BuiltTree old = new BuiltTree(folder);
        old.touchSource();
        String note =
                "rdma: what is built is older than its sources, and %s cannot be written here: going on with what is there\n"
                        .formatted(old.folder());
        try (Program program = old.start(NOBODY + "$tree/bin/rdma hello")) {
            assertEquals(0, program.join(), program::toString);
            assertEquals(note + HELLO, program.output());
        }
        try (Program program =
                old.start("rm $tree/samples/target/modules/rdma-samples.jar\n" + NOBODY + "$tree/bin/rdma hello")) {
            assertEquals(1, program.join(), program::toString);
            assertTrue(program.output().startsWith("rdma: nothing is built yet, and "), program::toString);
            assertEquals(1, program.output().lines().count(), program::toString);
        }
    }

    @Test
    void shouldRunForOthers() throws Exception {
        assertPrints(HELLO, NOBODY + "$tree/bin/rdma hello");
    }

    @Test
    void shouldRunForTwoUsersAtOnce() throws Exception {
        try (Program program = tree.start(NOBODY + "$tree/bin/demo >$work/one 2>&1 & one=$!\n"
                + OTHER + "$tree/bin/demo >$work/other 2>&1 & other=$!\n"
                + "wait $one && wait $other; status=$?; cat $work/one $work/other; exit $status")) {
            assertEquals(0, program.join(DEMOS_SECONDS), program::toString);
            String output = program.output();
            assertEquals(
                    2,
                    output.lines()
                            .filter(line -> line.equals("What that shows"))
                            .count(),
                    output);
        }
    }

    /** Ports of TCP, and of the connection manager. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "pingpong -p 20001",
                "perf server -p 20001",
                "serve 127.0.0.1 -p 20001",
                "rsocket-copy --serve 20001 $work",
                "nvme serve 127.0.0.1 -p 20001 --memory 1MiB"
            })
    void shouldSayThatAPortIsTaken(String command) throws Exception {
        String first = """
                $tree/bin/rdma %s >$work/first 2>&1 &
                first=$!
                trap 'kill $first' EXIT
                until grep -q ':4E21 0*:0000 0A' /proc/net/tcp /proc/net/tcp6 || grep -q 'rdmapanama.*/20001$' /proc/net/unix; do
                    kill -0 $first || { cat $work/first; exit 3; }
                    sleep 0.1
                done
                """.formatted(command);
        assertFails("20001", first + "$tree/bin/rdma " + command);
    }
}
