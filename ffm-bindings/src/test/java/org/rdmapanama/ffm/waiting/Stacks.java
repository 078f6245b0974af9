package org.rdmapanama.ffm.waiting;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** The stacks of all threads of this process, virtual ones among them. */
public final class Stacks {
    private Stacks() {}

    /** Those of threads in which this project's code is, and of carriers. */
    public static String ofOurs() {
        try {
            Path folder = Files.createTempDirectory("stacks");
            Path file = folder.resolve("stacks.txt");
            try {
                ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                        .dumpThreads(file.toString(), ThreadDumpFormat.TEXT_PLAIN);
                return Arrays.stream(Files.readString(file).split("\n\n"))
                        .filter(stack -> stack.contains("org.rdmapanama") || stack.contains("ForkJoinPool-1-worker"))
                        .collect(Collectors.joining("\n\n", scheduler() + "\n\n", ""));
            } finally {
                Files.deleteIfExists(file);
                Files.delete(folder);
            }
        } catch (IOException e) {
            return "no stacks: " + e;
        }
    }

    /** What the scheduler of virtual threads says of itself, in a Java that has that. */
    private static String scheduler() {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        try {
            ObjectName name = new ObjectName("jdk.management:type=VirtualThreadScheduler");
            String[] attributes = {"MountedVirtualThreadCount", "QueuedVirtualThreadCount", "PoolSize"};
            return server.isRegistered(name)
                    ? server.getAttributes(name, attributes).toString()
                    : "";
        } catch (JMException e) {
            return e.toString();
        }
    }
}
