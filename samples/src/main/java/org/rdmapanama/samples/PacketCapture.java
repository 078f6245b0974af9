package org.rdmapanama.samples;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntSupplier;

/** The option {@code --pcap}: a file to which soft0 writes its packets while a command runs. */
public final class PacketCapture {
    /** The system property that names the file. */
    public static final String PROPERTY = "org.rdmapanama.soft.pcap";

    private static final int SOME_PACKETS = 1 << 16;

    private PacketCapture() {}

    /**
     * Runs a command that opens its devices itself, and prints what was captured meanwhile.
     *
     * @param file the file to write, which is overwritten
     * @param log receives the summary
     * @param command the command to run
     * @return the command's status
     * @throws Failure if the file cannot be written
     */
    static int run(Path file, PrintWriter log, IntSupplier command) {
        begin(file);
        String before = System.setProperty(PROPERTY, file.toString());
        try {
            return command.getAsInt();
        } finally {
            restore(before);
            log.println("rdma: " + result(file));
            log.flush();
        }
    }

    /**
     * Restores the property.
     *
     * @param before its previous value, or null
     */
    public static void restore(String before) {
        if (before == null) {
            System.clearProperty(PROPERTY);
        } else {
            System.setProperty(PROPERTY, before);
        }
    }

    /**
     * Empties the file, and sees whether the disk has room for some packets.
     *
     * @param file the file
     * @throws Failure if the file cannot be written
     */
    public static void begin(Path file) {
        Path folder = file.toAbsolutePath().getParent();
        if (Files.isDirectory(file)) {
            throw new Failure("cannot write packets to " + file + ": it is a directory");
        }
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new Failure("cannot write packets to " + file + ": it is not a regular file");
        }
        if (folder == null || !Files.isDirectory(folder)) {
            throw new Failure("cannot write packets to " + file + ": there is no directory " + folder);
        }
        try {
            try (OutputStream out = Files.newOutputStream(file)) {
                out.write(new byte[SOME_PACKETS]);
            } finally {
                Files.newOutputStream(file).close();
            }
        } catch (AccessDeniedException e) {
            throw new Failure("cannot write packets to " + file + ": permission denied", e);
        } catch (IOException e) {
            throw new Failure("cannot write packets to " + file + ": " + e.getMessage(), e);
        }
    }

    private static String result(Path file) {
        try {
            if (Files.size(file) == 0) {
                Files.delete(file);
                return "no packets were written: --pcap works with the device soft0 only, and this command did not use"
                        + " it";
            }
            try (CaptureFile capture = new CaptureFile(file)) {
                int packets = capture.packets();
                int port = capture.unknownPort();
                return packets + (packets == 1 ? " packet" : " packets") + " of soft0 in " + file
                        + (port == 0 ? "" : "; to decode them: tshark -d udp.port==" + port + ",infiniband -r " + file);
            }
        } catch (IOException e) {
            return "cannot tell what was captured in " + file + ": " + e.getMessage();
        }
    }
}
