package org.rdmapanama.samples.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Lab;

/** The commands of {@code rdma collective}. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CollectiveCommandLabTest {
    private static final Pattern ROW = Pattern.compile("(?s).*\n +5000 +\\d+\\.\\d KiB( +\\d+\\.\\d){4}\n.*");

    @ParameterizedTest
    @ValueSource(strings = {"all-reduce", "all-reduce -o max -t float", "broadcast --root 2", "all-gather -t float"})
    void shouldMeasureAndVerify(String command) throws Exception {
        List<Run> runs = start(command + " -c 0,1,5000 -i 10 -w 2", 3);
        for (Run each : runs) {
            assertEquals(0, each.join(), each::toString);
        }
        Run first = runs.getFirst();
        assertTrue(ROW.matcher(first.out()).matches(), first::toString);
        assertTrue(first.out().contains("all results are those that one process computes"), first::toString);
        assertEquals("", runs.get(1).out());
    }

    private static List<Run> start(String command, int size) {
        List<String> addresses = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            addresses.add(Lab.SECOND_HOST + ":" + Lab.portText());
        }
        List<Run> runs = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            List<String> words = new ArrayList<>(List.of("collective"));
            words.addAll(List.of(command.split(" ", -1)));
            words.addAll(List.of("--rank", Integer.toString(i)));
            words.addAll(addresses);
            runs.add(Run.start(words.toArray(String[]::new)));
        }
        return runs;
    }

    @Test
    void shouldFailWhenRanksMeasureDifferentThings() throws Exception {
        String host = Lab.SECOND_HOST + ":";
        String one = host + Lab.portText();
        String two = host + Lab.portText();
        Run zero = Run.start("collective", "all-gather", "-c", "7", "--rank", "0", one, two);
        Run other = Run.start("collective", "all-reduce", "-c", "7", "--rank", "1", one, two);
        for (Run each : List.of(zero, other)) {
            assertEquals(1, each.join(), each::toString);
            assertTrue(each.err().contains("makes another call"), each::toString);
        }
    }

    @Test
    void shouldStartProcessesAndEndThemWhenInterrupted() throws Exception {
        Run run = Run.start("collective", "barrier", "-n", "2", Lab.SECOND_HOST, "-i", "100");
        assertEquals(0, run.join(), run::toString);
        assertTrue(run.out().matches("(?s)barrier, 2 ranks, 100 calls .*\nmedian .* us\n"), run::toString);

        Run endless = Run.start("collective", "barrier", "-n", "2", Lab.SECOND_HOST, "-i", "100000000");
        endless.await("2 ranks");
        List<ProcessHandle> children = ProcessHandle.current()
                .children()
                .filter(CollectiveCommandLabTest::isRank)
                .toList();
        assertEquals(2, children.size(), children::toString);
        endless.interrupt();
        assertEquals(130, endless.join(), endless::toString);
        for (ProcessHandle each : children) {
            each.onExit().join();
        }
    }

    private static boolean isRank(ProcessHandle process) {
        return process.info().arguments().map(List::of).orElse(List.of()).contains("--rank");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            barrier                       | write -n N to start N processes on this host, or --rank RANK and the addresses
            barrier -n 0                  | --processes must be between 1 and 64, not 0
            barrier -n 65                 | --processes must be between 1 and 64, not 65
            barrier -n 2 --rank 1         | --rank is for one of several processes that you start
            barrier -n 2 a b              | -n takes one address of this host at most, not 2
            barrier --rank 0              | give the addresses of all ranks, 1 to 64, not 0
            barrier --rank 2 a b          | --rank must be between 0 and 1, not 2
            barrier --rank 0 127.0.0.1:0  | the port of '127.0.0.1:0' must be between 1 and 65535
            barrier --rank 0 127.0.0.1 127.0.0.1 | '127.0.0.1' is there twice
            barrier -n 2 -i 0             | --iterations must be between 1 and
            barrier -n 2 -w -1            | --warm-up must be between 0 and
            barrier -n 2 --silence 0      | --silence must be between 1 and
            all-reduce -n 2 -c -1         | --count must be between 0 and
            all-reduce -n 2 -c 1,x        | --count must be a whole number, not 'x'
            all-reduce -n 2 -t int        | --type must be float or double, not 'int'
            all-reduce -n 2 -o mean       | --operation must be sum, min or max, not 'mean'
            broadcast -n 2 --root 2       | --root must be between 0 and 1, not 2
            """)
    void shouldSayWhatIsWrong(String arguments, String message) throws Exception {
        Run run = Run.start(("collective " + arguments).split(" ", -1));
        assertEquals(2, run.join(), run::toString);
        assertTrue(run.err().contains(message), run::toString);
    }
}
