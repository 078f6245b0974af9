package org.rdmapanama.counts;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The hardware counters that the kernel has of the ports of RDMA devices, which it shows as files below {@code
 * /sys/class/infiniband}. Reading them needs no open device and no rights. {@link org.rdmapanama.Context#portCounters} reads
 * those of an open device.
 *
 * <p>Names and values are those of the driver: {@code port_xmit_data} and {@code port_rcv_data} count units of four bytes,
 * for example, and a 32-bit counter stays at its largest value.
 *
 * <p>Threads: any.
 */
public final class KernelCounters {
    /** Not a counter: for how long the driver keeps the values, in milliseconds. */
    private static final String LIFESPAN = "lifespan";

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

    private final Path folder;

    /**
     * Reads another folder than that of this machine.
     *
     * @param folder what stands for {@code /sys/class/infiniband}
     */
    public KernelCounters(Path folder) {
        this.folder = Objects.requireNonNull(folder, "folder");
    }

    /** {@return the counters of this machine, below the folder that {@code SYSFS_PATH} names, or else {@code /sys}} */
    public static KernelCounters ofThisMachine() {
        String root = System.getenv("SYSFS_PATH");
        return new KernelCounters(Path.of(root == null ? "/sys" : root, "class", "infiniband"));
    }

    /** {@return the names of the devices of the kernel, sorted; empty if there are none} */
    public List<String> devices() {
        return names(folder);
    }

    /**
     * Returns the ports of a device.
     *
     * @param device its kernel name
     * @return their numbers, ascending; empty if there is no such device
     */
    public List<Integer> ports(String device) {
        List<Integer> ports = new ArrayList<>();
        for (String name : names(folder.resolve(device).resolve("ports"))) {
            if (NUMBER.matcher(name).matches()) {
                ports.add(Integer.valueOf(name));
            }
        }
        ports.sort(null);
        return ports;
    }

    /**
     * Reads all counters of a port.
     *
     * @param device the kernel name of the device
     * @param port the number of the port, from 1
     * @return the values by the names of the counters; empty if the driver has none, or the device or the port does not exist
     */
    public SortedMap<String, Long> read(String device, int port) {
        SortedMap<String, Long> counters = new TreeMap<>();
        Path place = folder.resolve(device).resolve("ports").resolve(Integer.toString(port));
        for (String kind : List.of("counters", "hw_counters")) {
            for (String name : names(place.resolve(kind))) {
                Long value =
                        name.equals(LIFESPAN) ? null : value(place.resolve(kind).resolve(name));
                if (value != null) {
                    counters.put(name, value);
                }
            }
        }
        return counters;
    }

    /** The folder. */
    @Override
    public String toString() {
        return "counters in " + folder;
    }

    /** Returns what a folder contains, sorted; nothing if it does not exist. */
    private static List<String> names(Path folder) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        } catch (IOException | UncheckedIOException removed) {
            return List.of();
        }
    }

    /** Returns the value of a counter; null if the device does not tell it, or is gone meanwhile. */
    private static @Nullable Long value(Path file) {
        try {
            return Long.parseUnsignedLong(Files.readString(file).strip());
        } catch (IOException | NumberFormatException untold) {
            return null;
        }
    }
}
