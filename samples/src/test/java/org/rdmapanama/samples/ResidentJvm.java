package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Bound;

/**
 * A JVM that runs our commands for many tests, so that they need not wait for a JVM each: on an emulated machine,
 * starting one takes longer than most commands. A JVM in which a command hangs is killed, and the next command gets a
 * new one.
 */
final class ResidentJvm implements AutoCloseable {
    /** Less than the tests' own limits, so that a failure shows what the command wrote. */
    private static final Duration LIMIT = Duration.ofSeconds(80);

    private static final Duration LIMIT_OF_INTERRUPTION = Duration.ofSeconds(15);
    private static final long MILLIS_TO_TELL = 2000;

    private final List<String> prefix;
    private Jvm jvm;

    /** Starts a JVM; the prefix precedes its command line. */
    ResidentJvm(String... prefix) throws IOException {
        this.prefix = List.of(prefix);
        jvm = new Jvm(this.prefix);
    }

    /** Starts a command in this JVM. */
    Command start(String... words) throws IOException, InterruptedException {
        if (!jvm.process.isAlive()) {
            jvm = new Jvm(prefix);
        }
        jvm.awaitReady();
        return jvm.start(words);
    }

    /** Kills this JVM, and starts another in its place. */
    void kill() throws IOException {
        jvm.kill();
        jvm = new Jvm(prefix);
    }

    /** Sends this JVM a signal, such as STOP. */
    void signal(String name) throws IOException {
        Program.run("kill", "-" + name, Long.toString(jvm.process.pid()));
    }

    @Override
    public void close() {
        jvm.kill();
    }

    private static final class Jvm {
        private final Process process;
        private final BufferedWriter in;
        private final Map<String, Command> commands = new ConcurrentHashMap<>();
        private final CountDownLatch ready = new CountDownLatch(1);
        private int started;

        Jvm(List<String> prefix) throws IOException {
            process = new ProcessBuilder(Program.javaCommand(prefix, List.of(), CommandWorker.class))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            in = process.outputWriter(StandardCharsets.UTF_8);
            Thread.ofPlatform().daemon().name("resident").start(this::listen);
        }

        private void listen() {
            try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
                for (String line = out.readLine(); line != null; line = out.readLine()) {
                    String[] words = line.split(CommandWorker.SEPARATOR, 3);
                    if (words.length == 3) {
                        take(words[0], words[1], words[2]);
                    } else {
                        // Such as a warning of the JVM.
                        System.err.println(line);
                    }
                }
            } catch (IOException | UncheckedIOException e) {
                // The JVM was killed.
            }
            ready.countDown();
            commands.values().forEach(each -> each.end("its JVM is gone"));
        }

        private void take(String number, String word, String text) {
            Command command = commands.get(number);
            switch (word) {
                case "says" -> command.output.append(text).append('\n');
                case "ended" -> {
                    command.status = Integer.parseInt(text);
                    command.ended.countDown();
                }
                default -> ready.countDown();
            }
        }

        void awaitReady() throws InterruptedException {
            assertTrue(ready.await(LIMIT.toSeconds(), TimeUnit.SECONDS) && process.isAlive(), "the JVM did not start");
        }

        Command start(String... words) throws IOException {
            String number = Integer.toString(++started);
            Command command = new Command(this, number, words);
            commands.put(number, command);
            tell("start", number, String.join(CommandWorker.SEPARATOR, words));
            return command;
        }

        void tell(String... words) throws IOException {
            in.write(String.join(CommandWorker.SEPARATOR, words));
            in.newLine();
            in.flush();
        }

        void kill() {
            process.destroyForcibly()
                    .onExit()
                    .orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS)
                    .join();
        }
    }

    /** A running command and its output; closing this interrupts the command. */
    static final class Command implements AutoCloseable {
        private final Jvm jvm;
        private final String number;
        private final String words;
        private final StringBuffer output = new StringBuffer();
        private final CountDownLatch ended = new CountDownLatch(1);
        private volatile int status = -1;

        private Command(Jvm jvm, String number, String... words) {
            this.jvm = jvm;
            this.number = number;
            this.words = String.join(" ", words);
        }

        private void end(String why) {
            if (ended.getCount() > 0) {
                output.append(why).append('\n');
                ended.countDown();
            }
        }

        /** Waits until it has printed a text. */
        void await(String text) throws IOException, InterruptedException {
            Bound bound = Bound.of(LIMIT);
            while (!output().contains(text)) {
                assertTrue(ended.getCount() > 0, () -> "ended without saying '" + text + "': " + this);
                if (bound.isOver()) {
                    giveUp("never said '" + text + "'");
                }
                Thread.sleep(10);
            }
        }

        /** Waits until the command ends, and returns its status. */
        int join() throws IOException, InterruptedException {
            if (!ended.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                giveUp("did not end");
            }
            return status;
        }

        String output() {
            return output.toString();
        }

        /** Interrupts the command, as Ctrl-C does. */
        void interrupt() throws IOException {
            jvm.tell("interrupt", number);
        }

        /** Prints what the threads of the JVM do, and kills it. */
        private void giveUp(String why) throws IOException, InterruptedException {
            jvm.tell("threads", number);
            Thread.sleep(MILLIS_TO_TELL);
            jvm.kill();
            throw new AssertionError(why + ": " + this);
        }

        @Override
        public void close() throws IOException {
            if (ended.getCount() == 0) {
                return;
            }
            try {
                interrupt();
                if (!ended.await(LIMIT_OF_INTERRUPTION.toSeconds(), TimeUnit.SECONDS)) {
                    giveUp("did not end when it was interrupted");
                }
            } catch (InterruptedException e) {
                // The time is up.
                jvm.kill();
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public String toString() {
            return "rdma " + words + " -> " + status + "\n" + output;
        }
    }
}
