package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Lab;

/** The commands of {@code rdma table} with each other. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TableCommandLabTest {
    private static final Pattern LINES = Pattern.compile(
            "(?s).*20 keys, values of 40 bytes, 512 READ bytes a get, 2 readers, 1 writers, 1 rounds of 1 s.*"
                    + "RDMA READ +\\d+ +\\d+\\.\\d +\\d+\\.\\d +\\d+ +\\d+ +\\d+\\.\\d\n"
                    + "RDMA SEND +\\d+ +\\d+\\.\\d +\\d+\\.\\d +\\d+ +0 +\\d+\\.\\d\n"
                    + "TCP +\\d+ +\\d+\\.\\d +\\d+\\.\\d +\\d+ +0 +\\d+\\.\\d\n.*");

    private static void check(int status, Run run) throws InterruptedException {
        assertEquals(status, run.join(), run::toString);
    }

    @Test
    void shouldServePutGetRemoveAndMeasure() throws Exception {
        String port = Lab.portText();
        String tcp = Lab.portText();
        String server = Lab.SECOND_HOST + ":" + port;
        Run serve = Run.start(
                "table", "serve", "-b", Lab.SECOND_HOST, "-p", port, "--tcp", tcp, "--slots", "16", "--window", "4");
        serve.await("until Ctrl-C");
        check(0, Run.start("table", "put", server, "capital of Peru", "Lima"));
        Run get = Run.start("table", "get", server, "capital of Peru");
        check(0, get);
        assertEquals("Lima", get.out().strip());
        Run tooLong = Run.start("table", "put", server, "key", "x".repeat(102));
        check(1, tooLong);
        assertTrue(tooLong.err().contains("key and value together at most 104"), tooLong::toString);
        check(0, Run.start("table", "remove", server, "capital of Peru"));
        for (String command : new String[] {"get", "remove"}) {
            Run none = Run.start("table", command, server, "capital of Peru");
            check(1, none);
            assertTrue(none.err().contains("there is no key 'capital of Peru'"), none::toString);
        }
        Run bench = Run.start(
                "table",
                "bench",
                server,
                "--tcp",
                tcp,
                "--readers",
                "2",
                "--writers",
                "1",
                "--keys",
                "20",
                "--value",
                "40",
                "--seconds",
                "1",
                "--rounds",
                "1");
        check(0, bench);
        assertTrue(LINES.matcher(bench.out()).matches(), bench::toString);
        Run large = Run.start("table", "bench", server, "--value", "89");
        check(2, large);
        assertTrue(large.err().contains("--value must be at most 88 bytes"), large::toString);
        serve.interrupt();
        check(130, serve);
        Run gone = Run.start("table", "get", server, "key", "--timeout", "1");
        check(1, gone);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "; which command? serve, get, put, remove or bench",
                "nothing; there is no",
                "serve --slots 1000; --slots must be a power of two, not 1000",
                "serve --slots 64 --max-slots 32; --max-slots must be between 64 and",
                "serve --slot 100; --slot must be a multiple of 8 between 64 and 65536, not 100",
                "serve --slot 1MiB; --slot must be between 64 and 65536, not 1048576",
                "serve --window 0; --window must be between 1 and 64 slots of 128 bytes, not 0",
                "serve --port 0; --port must be between 1 and 65535, not 0",
                "serve --clients 0; --clients must be between 1 and 10000, not 0",
                "serve --grace -1; --grace must be between 0 and 86400, not -1",
                "get 127.0.0.1:99999 key; the port of '127.0.0.1:99999' must be between 1 and 65535",
                "get 127.0.0.1; KEY",
                "bench 127.0.0.1 --readers 0; --readers must be between 1 and 32, not 0",
                "bench 127.0.0.1 --rounds 0; --rounds must be between 1 and 100, not 0",
            })
    void shouldSayWhatIsWrong(String words, String message) throws Exception {
        String[] arguments = ("table " + (words == null ? "" : words)).strip().split(" ");
        Run run = Run.start(arguments);
        check(2, run);
        assertTrue(run.err().contains(message), run::toString);
    }
}
