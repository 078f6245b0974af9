package org.rdmapanama.samples;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rdmapanama.testing.Bound;

/**
 * The host of NVMe over RDMA in the Linux kernel, connected with one controller; closing this disconnects it. Each has a name
 * and an id of its own, so that a target takes several for several hosts.
 */
final class KernelHost implements AutoCloseable {
    private static final Path FABRICS = Path.of("/dev/nvme-fabrics");

    /** Such as nvme0n1, or nvme0c1n1, which is a path to nvme0n1. */
    private static final Pattern NAMESPACE = Pattern.compile("nvme(\\d+)(c\\d+)?n(\\d+)");

    private static final Pattern INSTANCE = Pattern.compile("instance=(\\d+)");

    private final Path controller;

    /** Connects, as {@code nvme connect} does. */
    KernelHost(InetSocketAddress target, String from, String subsystem, String... more) throws IOException {
        UUID id = UUID.randomUUID();
        String request = String.join(
                ",",
                "transport=rdma",
                "traddr=" + target.getAddress().getHostAddress(),
                "trsvcid=" + target.getPort(),
                "host_traddr=" + from,
                "nqn=" + subsystem,
                "hostnqn=nqn.2014-08.org.nvmexpress:uuid:" + id,
                "hostid=" + id,
                // By default it waits for ten seconds.
                "reconnect_delay=1",
                // And for ten minutes until reads and writes of a lost controller fail, which nothing interrupts.
                "ctrl_loss_tmo=60",
                String.join(",", more));
        try (FileChannel fabrics = FileChannel.open(FABRICS, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            fabrics.write(ByteBuffer.wrap(request.getBytes(StandardCharsets.US_ASCII)));
            ByteBuffer answer = ByteBuffer.allocate(256);
            fabrics.read(answer);
            String text = new String(answer.array(), 0, answer.position(), StandardCharsets.US_ASCII);
            Matcher matcher = INSTANCE.matcher(text);
            if (!matcher.find()) {
                throw new IOException("the kernel answers to " + request + ": " + text);
            }
            controller = Path.of("/sys/class/nvme", "nvme" + matcher.group(1));
        }
    }

    /** Waits for the device of a namespace. */
    Path disk(int id) throws IOException, InterruptedException {
        Path[] found = new Path[1];
        Bound.ofSeconds(30).await(() -> "no namespace " + id + " in " + controller, () -> {
            found[0] = find(id);
            return found[0] != null && Files.exists(found[0]);
        });
        return found[0];
    }

    private Path find(int id) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(controller)) {
            for (Path each : files) {
                Matcher name = NAMESPACE.matcher(each.getFileName().toString());
                if (name.matches() && isNamespace(each, id)) {
                    return Path.of("/dev", "nvme" + name.group(1) + "n" + name.group(3));
                }
            }
            return null;
        }
    }

    private static boolean isNamespace(Path folder, int id) throws IOException {
        try {
            return Files.readString(folder.resolve("nsid")).strip().equals(Integer.toString(id));
        } catch (NoSuchFileException notYet) {
            return false;
        }
    }

    /** An attribute of the controller, such as state. */
    String attribute(String name) throws IOException {
        return Files.readString(controller.resolve(name)).strip();
    }

    @Override
    public void close() throws IOException {
        Files.writeString(controller.resolve("delete_controller"), "1");
    }
}
