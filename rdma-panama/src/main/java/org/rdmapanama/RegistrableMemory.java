package org.rdmapanama;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which memory may be registered, and why registering failed. */
final class RegistrableMemory {
    private static final Path LIMITS = Path.of("/proc/self/limits");

    private static final Pattern MAX_LOCKED_MEMORY = Pattern.compile("^Max locked memory +(\\S+)", Pattern.MULTILINE);

    private static final Class<?> AUTOMATIC_SCOPE = Arena.ofAuto().scope().getClass();

    /** Of arrays, and of buffers that no arena allocated. */
    private static final Class<?> SCOPE_OF_ARRAYS =
            MemorySegment.ofArray(new byte[0]).scope().getClass();

    private static final String UNLIMITED = "unlimited";

    private static final long SMALLEST_PAGE = 4096;

    private RegistrableMemory() {}

    static void check(MemorySegment memory, Set<AccessFlag> access, VerbsArena arena) {
        checkMemory(memory);
        if (!hasKnownLife(memory, arena)) {
            throw new IllegalArgumentException(whoCouldFree(memory)
                    + " while the device still uses it: take memory from the VerbsArena or from Arena.ofAuto(), with"
                    + " allocate or as the arena of FileChannel.map, and asByteBuffer where a buffer is needed; or, if you"
                    + " see to its life yourself, call ProtectionDomain.registerUnsafe");
        }
        checkAccess(memory, access);
    }

    /** What can be registered when the caller sees to its life. */
    static void checkMemory(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "memory on the heap cannot be registered, the collector moves it: allocate it from the VerbsArena");
        }
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException("an empty segment cannot be registered; a pointer that came from native"
                    + " code has no size until it is reinterpreted");
        }
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("the memory's arena is closed");
        }
    }

    static void checkAccess(MemorySegment memory, Set<AccessFlag> access) {
        checkAccess(access);
        if (memory.isReadOnly() && access.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException("read-only memory cannot be registered with LOCAL_WRITE");
        }
    }

    /**
     * Whether nobody can free memory as long as its segment is referenced: memory of the same arena, of the global one,
     * and of automatic ones, which nothing but the collector closes. A kind of scope that is not known here is not
     * trusted.
     */
    static boolean hasKnownLife(MemorySegment memory, VerbsArena arena) {
        return livesAsLongAs(arena, memory) || memory.scope().getClass().equals(AUTOMATIC_SCOPE);
    }

    /** As {@link #hasKnownLife}, for memory that nobody will refer to. */
    static boolean livesAsLongAs(VerbsArena arena, MemorySegment memory) {
        return arena.owns(memory) || memory.scope().equals(Arena.global().scope());
    }

    private static String whoCouldFree(MemorySegment memory) {
        return memory.scope().getClass().equals(SCOPE_OF_ARRAYS)
                ? "this memory is a direct buffer's, which its owner could free"
                : "this memory belongs to an arena that could free it";
    }

    static void checkAccess(Set<AccessFlag> access) {
        boolean remoteChange = access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC);
        if (remoteChange && !access.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(access + " needs LOCAL_WRITE too");
        }
    }

    /**
     * Where a region begins for work requests and peers.
     *
     * @param place of its first byte in memory, or in a buffer
     */
    static void checkAddress(long address, long place, long byteSize) {
        if (Long.compareUnsigned(address + byteSize - 1, address) < 0) {
            throw new IllegalArgumentException(
                    "a region of %d bytes cannot begin at 0x%x: it would go on beyond 64 bits"
                            .formatted(byteSize, address));
        }
        // The kernel asks for equal offsets in a page; no page is smaller.
        if (((address ^ place) & (SMALLEST_PAGE - 1)) != 0) {
            throw new IllegalArgumentException(
                    "a region can only begin at 0x%x when its memory begins at the same offset in a page, unlike 0x%x: allocate it with an alignment of 4096"
                            .formatted(address, place));
        }
    }

    /** Where to see whether a device can register with some access, or null when every device can. */
    static String capability(Set<AccessFlag> access) {
        List<String> capabilities = new ArrayList<>();
        if (access.contains(AccessFlag.ON_DEMAND)) {
            capabilities.add("on-demand paging in DeviceAttributes.onDemandPaging");
        }
        if (access.contains(AccessFlag.FLUSH_GLOBAL)) {
            capabilities.add("DeviceCapability.FLUSH_GLOBAL in DeviceAttributes.capabilities");
        }
        if (access.contains(AccessFlag.FLUSH_PERSISTENT)) {
            capabilities.add("DeviceCapability.FLUSH_PERSISTENT in DeviceAttributes.capabilities");
        }
        if (access.contains(AccessFlag.MW_BIND)) {
            capabilities.add("DeviceCapability.MEM_WINDOW in DeviceAttributes.capabilities");
        }
        if (!capabilities.isEmpty()) {
            return String.join(" and ", capabilities);
        }
        if (access.contains(AccessFlag.REMOTE_ATOMIC)) {
            return "DeviceAttributes.atomicCapability";
        }
        return access.contains(AccessFlag.REMOTE_READ) || access.contains(AccessFlag.REMOTE_WRITE)
                ? "a device whose memory peers can reach, as that of some EFA devices they cannot: there is no capability"
                        + " for it"
                : null;
    }

    /** Whether a device says that it cannot do what some access needs: many drivers then report EINVAL. */
    static boolean isBeyond(DeviceAttributes device, Set<AccessFlag> access, boolean implicit) {
        OnDemandPagingCapabilities demand = device.onDemandPaging();
        Set<DeviceCapability> has = device.capabilities();
        return (access.contains(AccessFlag.ON_DEMAND) && !demand.explicit())
                || (implicit && !demand.implicit())
                || (access.contains(AccessFlag.FLUSH_GLOBAL) && !has.contains(DeviceCapability.FLUSH_GLOBAL))
                || (access.contains(AccessFlag.FLUSH_PERSISTENT) && !has.contains(DeviceCapability.FLUSH_PERSISTENT));
    }

    /** What to do about a registration that failed, or null. */
    static String cure(int errno, MemorySegment memory, Set<AccessFlag> access) {
        return cure(errno, memory, access, lockedMemoryLimit());
    }

    static String cure(int errno, MemorySegment memory, Set<AccessFlag> access, String limit) {
        if (errno == Errno.ENOMEM.number || errno == Errno.EAGAIN.number) {
            if (access.contains(AccessFlag.ON_DEMAND)) {
                return "nothing is pinned with ON_DEMAND: the device or the kernel has no room for another region";
            }
            String pins = "registering pins " + memory.byteSize()
                    + " bytes and the limit of locked memory (RLIMIT_MEMLOCK) is " + limit;
            return pins
                    + (limit.equals(UNLIMITED)
                            ? ": there is not so much free memory, or the device has no room for another region"
                            : ": raise it with 'ulimit -l unlimited', in /etc/security/limits.conf, or"
                                    + " with LimitMEMLOCK=infinity in a systemd unit");
        }
        if (errno == Errno.EFAULT.number) {
            return "the pages cannot be pinned with this access: Linux before 6.2 pins no file that is mapped read-only,"
                    + " and since 6.5 none for writing but in memory, as on /dev/shm";
        }
        return null;
    }

    /** What to do about ENOMEM where a queue was to be made: its memory is pinned. */
    static String cureOfTooMany(String objects) {
        return "the device is out of " + objects + " or of room for such a long one, or the limit of locked memory"
                + " (RLIMIT_MEMLOCK), " + lockedMemoryLimit() + ", is too low: see 'ulimit -l'";
    }

    /** The soft limit of this process, with its unit. */
    static String lockedMemoryLimit() {
        try {
            Matcher limit = MAX_LOCKED_MEMORY.matcher(Files.readString(LIMITS));
            if (limit.find()) {
                return limit.group(1).equals(UNLIMITED) ? UNLIMITED : limit.group(1) + " bytes";
            }
        } catch (IOException unknown) {
            // said below
        }
        return "not known";
    }
}
