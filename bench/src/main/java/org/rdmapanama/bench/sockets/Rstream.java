package org.rdmapanama.bench.sockets;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The C program rstream of librdmacm: two processes of it for each measurement. */
final class Rstream {
    private static final String PROGRAM = "rstream";
    private static final Pattern RESULT = Pattern.compile("(?m)^custom .*s +([\\d.]+) +([\\d.]+)\\s*$");
    private static final long LIMIT_SECONDS = 60;
    private static final int BITS_PER_BYTE = 8;

    private final Settings settings;
    private final List<String> mode;
    private int port = 7600;

    /** The mode is the value of its option -T. */
    Rstream(Settings settings, String mode) {
        this.settings = settings;
        this.mode = List.of("-T", mode);
    }

    static boolean isInstalled() {
        try {
            return new ProcessBuilder("which", PROGRAM).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Returns microseconds of a round trip. */
    double roundTrip(int count) throws IOException, InterruptedException {
        return 2 * Double.parseDouble(run(Client.MESSAGE, 1, count).group(2));
    }

    /** Returns MiB per second. */
    double bandwidth() throws IOException, InterruptedException {
        double gigabits =
                Double.parseDouble(run(settings.chunk(), settings.chunks(), 1).group(1));
        return gigabits * 1e9 / BITS_PER_BYTE / (1 << 20);
    }

    private Matcher run(int size, int transfers, int iterations) throws IOException, InterruptedException {
        port++;
        List<String> test = List.of("-S", "" + size, "-C", "" + transfers, "-I", "" + iterations, "-p", "" + port);
        Process server = start(List.of("-b", settings.host()), test);
        try {
            // It says that it listens by its header.
            InputStream out = server.getInputStream();
            for (int c = out.read(); c >= 0 && c != '\n'; c = out.read()) {
                // The header is known.
            }
            Process client = start(List.of("-s", settings.host(), "-b", settings.from()), test);
            try {
                String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                Matcher result = RESULT.matcher(text);
                if (!client.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) || !result.find()) {
                    throw new IOException("rstream failed: " + text);
                }
                return result;
            } finally {
                client.destroyForcibly();
            }
        } finally {
            if (!server.waitFor(1, TimeUnit.SECONDS)) {
                server.destroyForcibly();
            }
        }
    }

    private Process start(List<String> role, List<String> test) throws IOException {
        List<String> command = new ArrayList<>(List.of("stdbuf", "-oL", PROGRAM));
        command.addAll(role);
        command.addAll(mode);
        command.addAll(test);
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }
}
