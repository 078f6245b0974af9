package org.rdmapanama.samples.learn;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaDevices;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.samples.Run;
import org.rdmapanama.testing.Bound;

/** The lesson with two processes, of which one is killed, stopped, interrupted, or another program than expected. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WholeTransferTest {
    private static final String NUMBER = Integer.toString(Lesson.TRANSFER.number());
    private static final Pattern SECOND_COMMAND =
            Pattern.compile("learn " + NUMBER + " --to (127\\.0\\.0\\.1):(\\d+)\n");
    private static final Pattern STATE = Pattern.compile("^([AB]) ([A-Z]+) ", Pattern.MULTILINE);
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @BeforeAll
    static void requireSoft0() {
        assumeTrue(
                RdmaDevices.names().contains("soft0"),
                "the connection manager of this process is the one for other devices");
    }

    private static Program soft(String... arguments) throws Exception {
        return Program.java(List.of("env", "RDMA_DEVICE=soft0"), Rdma.class, arguments);
    }

    /** Returns the sides and states of the lines, in order. */
    private static String states(String output) {
        return STATE.matcher(output)
                .results()
                .map(line -> line.group(1) + "-" + line.group(2))
                .collect(Collectors.joining(" "));
    }

    private static Matcher secondCommand(Program lender) throws Exception {
        lender.await("--to ");
        Bound bound = Bound.of(LIMIT);
        Matcher command = SECOND_COMMAND.matcher(lender.output());
        while (!command.find()) {
            bound.check(lender::toString);
            Thread.sleep(10);
            command = SECOND_COMMAND.matcher(lender.output());
        }
        return command;
    }

    @Test
    void shouldRunInTwoTerminals() throws Exception {
        try (Program lender = soft("learn", NUMBER, "--serve")) {
            Matcher command = secondCommand(lender);
            try (Program user = soft("learn", NUMBER, "--to", command.group(1) + ":" + command.group(2))) {
                assertEquals(0, user.join(), () -> user + "\n" + lender);
                assertEquals(0, lender.join(), () -> user + "\n" + lender);
                assertEquals("A-INIT A-RTS A-RTS A-RTS A-RTS A-RTS A-RTS A-ERR", states(user.output()), user::output);
                assertEquals("B-INIT B-RTS B-RTS B-RTS B-RTS B-ERR", states(lender.output()), lender::output);
                assertTrue(
                        lender.output().contains("receives 'done', and has 'written by A' in its memory"),
                        lender::output);
                for (Program each : List.of(user, lender)) {
                    for (String kind : List.of("REQ", "RDMA_WRITE_ONLY", "RDMA_READ_RESPONSE_ONLY", "DREP")) {
                        assertTrue(each.output().contains(kind), each::output);
                    }
                }
            }
        }
    }

    @Test
    void shouldSayThatTheOtherProgramIsAnotherOne() throws Exception {
        try (Program lender = soft("learn", NUMBER, "--serve");
                VerbsArena arena = VerbsArena.ofShared()) {
            Matcher command = secondCommand(lender);
            InetSocketAddress address = new InetSocketAddress(command.group(1), Integer.parseInt(command.group(2)));
            try (RdmaConnection connection =
                    new RdmaClient(arena).connect(address, new RdmaConnectionOptions().completionEvents(true), LIMIT)) {
                // It has posted no receive for the address and the key, and sends more than B has room for.
                MemoryRegion message = connection.register(65);
                connection
                        .queuePair()
                        .postSend(SendWorkRequest.allocate(arena, 1)
                                .send()
                                .add(message, 0, 65)
                                .signaled(true));
                WorkCompletions completions = new WorkCompletions(arena, 1);
                assertEquals(1, connection.sendQueue().await(completions, LIMIT));
                assertFalse(completions.succeeded(0));
            }
            assertEquals(1, lender.join(), lender::toString);
            assertTrue(lender.output().contains("rdma learn: "), lender::output);
            assertFalse(lender.output().contains("unexpected"), lender::output);
        }
    }

    @Test
    void shouldEndAtCtrlCWhileNobodyComes() throws Exception {
        try (Program lender = soft("learn", NUMBER, "--serve")) {
            secondCommand(lender);
            lender.signal("INT");
            assertEquals(130, lender.join(), lender::toString);
            assertTrue(lender.output().contains("interrupted; everything is closed"), lender::output);
        }
    }

    /** Stops the second process of a lesson of this process by a signal, and returns it. */
    private static ProcessHandle stopSecondProcess() throws Exception {
        Bound bound = Bound.of(LIMIT);
        while (true) {
            Optional<ProcessHandle> second = ProcessHandle.current()
                    .children()
                    .filter(WholeTransferTest::serves)
                    .findFirst();
            if (second.isPresent()) {
                Program.run("kill", "-STOP", Long.toString(second.get().pid()));
                return second.get();
            }
            bound.check(() -> "no second process");
            Thread.sleep(10);
        }
    }

    /** Whether a process has become the command: before, this process waits for it, and it must not be stopped. */
    private static boolean serves(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"), ISO_8859_1)
                    .contains("\0" + "learn\0" + NUMBER + "\0--serve\0");
        } catch (IOException gone) {
            return false;
        }
    }

    @Test
    void shouldEndTheSecondProcessAtCtrlC() throws Exception {
        Run run = Run.start("learn", NUMBER);
        ProcessHandle second = stopSecondProcess();
        run.interrupt();
        assertEquals(130, run.join(), run::toString);
        assertFalse(second.isAlive(), second::toString);
    }

    @Test
    void shouldSayThatTheSecondProcessWasKilled() throws Exception {
        Run run = Run.start("learn", NUMBER);
        ProcessHandle second = stopSecondProcess();
        second.destroyForcibly();
        assertEquals(1, run.join(), run::toString);
        assertTrue(run.err().contains("the second process ended too early, with status 137"), run::toString);
    }

    private static Failure assertFails(String message, Executable call) {
        Failure failure = assertThrows(Failure.class, call);
        assertTrue(failure.getMessage().contains(message), failure::getMessage);
        return failure;
    }

    private static void assertShowsCause(String message, Executable call) {
        Failure failure = assertFails(message, call);
        assertTrue(failure.getMessage().contains("the lesson must be between 0 and "), failure::getMessage);
    }

    @Test
    void shouldShowWhatAFailedProcessSaid() throws Exception {
        try (OtherProcess other = new OtherProcess(List.of("learn", "99"), LIMIT)) {
            assertShowsCause("the second process ended too early, with status 2", () -> other.next("B "));
        }
        try (OtherProcess other = new OtherProcess(List.of("learn", "99"), LIMIT)) {
            assertShowsCause("the second process failed, with status 2", other::awaitEnd);
        }
        try (OtherProcess other = new OtherProcess(List.of("learn", "99"), LIMIT)) {
            assertShowsCause("gone; the second process failed, with status 2", () -> {
                throw other.explain(new IllegalStateException("gone"));
            });
        }
    }

    @Test
    void shouldWaitForALineWithinALimit() throws Exception {
        try (OtherProcess other = new OtherProcess(List.of("learn", NUMBER, "--serve"), Duration.ofSeconds(3))) {
            assertFails("printed nothing for 3 s", () -> other.next("never"));
        }
    }
}
