package org.rdmapanama.samples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import picocli.CommandLine;

/**
 * Reads commands from standard input, {@code start NUMBER WORD...}, and runs each in its own thread. Reports on
 * standard output what they print, {@code NUMBER says LINE}, and how they end, {@code NUMBER ended STATUS}.
 * {@link ResidentJvm} is the other end of both. It ends with its parent.
 */
final class CommandWorker {
    /** Separates words, which may contain blanks. */
    static final String SEPARATOR = "\t";

    /** A system property: for how many milliseconds it is busy with each MiB of a checksum. */
    static final String BUSY = "checksum.busy";

    private final Map<String, Thread> running = new ConcurrentHashMap<>();

    private CommandWorker() {}

    public static void main(String[] arguments) throws IOException {
        ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
        Thread.ofPlatform().daemon().name("parent").start(() -> {
            parent.onExit().join();
            Runtime.getRuntime().halt(1);
        });
        Checksum.extraMillis = Integer.getInteger(BUSY, 0);
        say("0", "ready", "");
        CommandWorker worker = new CommandWorker();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                worker.obey(line.split(SEPARATOR, -1));
            }
        }
        System.exit(0);
    }

    private void obey(String... words) {
        String number = words[1];
        switch (words[0]) {
            case "start" -> {
                String[] command = Arrays.copyOfRange(words, 2, words.length);
                Thread thread =
                        Thread.ofPlatform().daemon().name("command-" + number).unstarted(() -> run(number, command));
                running.put(number, thread);
                thread.start();
            }
            case "interrupt" -> {
                Thread thread = running.get(number);
                if (thread != null) {
                    thread.interrupt();
                }
            }
            case "threads" -> tellThreads(number);
            default -> throw new IllegalArgumentException("unknown command '" + words[0] + "'");
        }
    }

    private void run(String number, String... command) {
        int status = -1;
        try (PrintWriter out = new PrintWriter(new Lines(number), true)) {
            CommandLine commandLine = Run.commandLine(command);
            commandLine.setOut(out);
            commandLine.setErr(out);
            status = commandLine.execute(command);
        } finally {
            running.remove(number);
            say(number, "ended", Integer.toString(status));
        }
    }

    private static void tellThreads(String number) {
        Thread.getAllStackTraces().forEach((thread, trace) -> {
            say(number, "says", thread.getName() + ", " + thread.getState());
            for (StackTraceElement each : trace) {
                say(number, "says", "    " + each);
            }
        });
    }

    private static void say(String number, String word, String text) {
        // A single call, because several commands may print at once.
        System.out.print(String.join(SEPARATOR, number, word, text) + "\n");
        System.out.flush();
    }

    /** The output of a command: each line is reported when it is complete. */
    private static final class Lines extends Writer {
        private final String number;
        private final StringBuilder line = new StringBuilder();

        Lines(String number) {
            this.number = number;
        }

        @Override
        public void write(char[] text, int from, int length) {
            for (int i = from; i < from + length; i++) {
                if (text[i] == '\n') {
                    tell();
                } else if (text[i] != '\r') {
                    line.append(text[i]);
                }
            }
        }

        private void tell() {
            say(number, "says", line.toString());
            line.setLength(0);
        }

        @Override
        public void flush() {
            // A line is reported only once it is complete.
        }

        @Override
        public void close() {
            if (!line.isEmpty()) {
                tell();
            }
        }
    }
}
