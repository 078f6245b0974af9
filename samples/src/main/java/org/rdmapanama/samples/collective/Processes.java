package org.rdmapanama.samples.collective;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.OwnJvm;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.samples.Sockets;

/** Runs all ranks as processes of this host. What rank 0 prints is the output; the others only print what fails. */
final class Processes {
    private static final long TICK_MILLIS = 20;
    private static final int LINES = 20;

    private final String operation;
    private final List<String> arguments;
    private final PrintWriter out;
    private final List<Rank> ranks = new ArrayList<>();

    /** A process, and the last lines that it has printed. */
    private static final class Rank {
        private final Process process;
        private final List<String> lines = new ArrayList<>();
        private final Thread reader;

        Rank(List<String> command, PrintWriter out) throws IOException {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
            reader = Thread.ofPlatform().daemon().name("rank-output").start(() -> read(out));
        }

        private void read(PrintWriter out) {
            try (BufferedReader in = process.inputReader()) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    synchronized (lines) {
                        lines.add(line);
                        if (lines.size() > LINES) {
                            lines.removeFirst();
                        }
                    }
                    if (out != null) {
                        out.println(line);
                        out.flush();
                    }
                }
            } catch (IOException e) {
                // The process has been destroyed.
                return;
            }
        }

        String text() {
            synchronized (lines) {
                return String.join(" / ", lines);
            }
        }
    }

    Processes(String operation, List<String> arguments, PrintWriter out) {
        this.operation = operation;
        this.arguments = arguments;
        this.out = out;
    }

    void run(int count, String host) throws IOException, InterruptedException {
        List<String> addresses = addresses(count, host);
        try {
            for (int i = 0; i < count; i++) {
                List<String> command = new ArrayList<>(OwnJvm.command(Rdma.class, List.of()));
                command.addAll(List.of("collective", operation, "--rank", Integer.toString(i)));
                command.addAll(arguments);
                command.addAll(addresses);
                ranks.add(new Rank(command, i == 0 ? out : null));
            }
            await();
        } finally {
            for (Rank each : ranks) {
                each.process.destroyForcibly();
            }
        }
    }

    /** Ports that are free now; others may take one of them before the ranks do, and then these say so. */
    private static List<String> addresses(int count, String host) {
        List<String> addresses = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            List<RdmaServer> servers = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                servers.add(RdmaServer.listen(arena, Sockets.resolve(host, 0)));
            }
            for (RdmaServer each : servers) {
                InetSocketAddress address = each.localAddress();
                String text = address.getAddress().getHostAddress();
                addresses.add((text.contains(":") ? "[" + text + "]" : text) + ":" + address.getPort());
                each.close();
            }
        } catch (VerbsException e) {
            throw new Failure(
                    "cannot listen at " + host
                            + ": give the address of the network interface of an RDMA device, such as"
                            + " 'rdma collective barrier -n 4 192.168.1.5' (" + e.getMessage() + ")",
                    e);
        }
        return addresses;
    }

    private void await() throws InterruptedException {
        StringBuilder failed = new StringBuilder();
        for (int i = 0; i < ranks.size(); i++) {
            Rank each = ranks.get(i);
            while (!each.process.waitFor(TICK_MILLIS, TimeUnit.MILLISECONDS)) {
                // Interrupting the thread ends this, as Ctrl-C does.
            }
            each.reader.join();
            if (each.process.exitValue() != 0) {
                failed.append(System.lineSeparator())
                        .append("  rank ")
                        .append(i)
                        .append(", status ")
                        .append(each.process.exitValue())
                        .append(": ")
                        .append(each.text());
            }
        }
        if (!failed.isEmpty()) {
            throw new Failure("ranks have failed:" + failed);
        }
    }
}
