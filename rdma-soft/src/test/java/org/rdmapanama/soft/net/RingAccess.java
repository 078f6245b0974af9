package org.rdmapanama.soft.net;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** The memory of the links of this process, for tests that do with it what a peer may do. */
public final class RingAccess {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private RingAccess() {}

    /** The files of this process, which have no names any more. */
    private static List<Path> open() throws IOException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path each : all) {
                if (Files.isSymbolicLink(each)
                        && Files.readSymbolicLink(each).toString().contains(RingFile.PREFIX)) {
                    files.add(each);
                }
            }
        }
        return files;
    }

    private static FileChannel channel() throws IOException {
        return FileChannel.open(open().getFirst(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    /** The memory of the first link, which stays when the link ends. */
    public static MemorySegment map(Arena arena) throws IOException {
        try (FileChannel channel = channel()) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, RingFile.BYTES, arena);
        }
    }

    /** Makes the file of the first link shorter. */
    public static void truncate() throws IOException {
        try (FileChannel channel = channel()) {
            channel.truncate(0);
        }
    }

    /** Where the rings begin in that memory. */
    public static int rings() {
        return RingFile.BYTES - 2 * RingFile.RING_BYTES;
    }

    /** How many packets came through shared memory. */
    public static long received(Wire wire) {
        return wire.links().received();
    }

    /** The first link, or null. Needs the lock of the device. */
    public static Object link(Wire wire) {
        return wire.links().all().stream().findFirst().orElse(null);
    }

    /** All links, in the order in which they were made. Needs the lock of the device. */
    public static List<Object> links(Wire wire) {
        return List.copyOf(wire.links().all());
    }

    /** How many packets to the peer are in the memory of a link, whether or not it has ended, that the peer has not read. */
    public static int unread(MemorySegment map, Object link) {
        int side = ((RingLink) link).side;
        RingFile file = ((RingLink) link).file;
        long begin = file.ring(0) - rings();
        long at = map.get(ValueLayout.JAVA_LONG, file.side(1 - side) - begin + RingFile.POSITION);
        int count = 0;
        for (int bytes = length(map, side, at); bytes != 0; bytes = length(map, side, at)) {
            if (bytes == RingReader.SKIP) {
                at += RingFile.RING_BYTES - (at & (RingFile.RING_BYTES - 1));
            } else {
                at += RingReader.recordBytes(bytes);
                count++;
            }
        }
        return count;
    }

    private static int length(MemorySegment map, int side, long at) {
        long ring = rings() + (long) side * RingFile.RING_BYTES;
        return map.get(ValueLayout.JAVA_INT, ring + (at & (RingFile.RING_BYTES - 1)));
    }

    /** The files of links in a directory. */
    public static List<Path> named(Path directory) throws IOException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory, RingFile.PREFIX + "*")) {
            all.forEach(files::add);
        }
        return files;
    }
}
