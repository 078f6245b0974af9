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
import org.jspecify.annotations.Nullable;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.device.OnDemandPagingCapabilities;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.memory.AccessFlag;

/** Checks which memory may be registered, and explains why registering failed. */
final class RegistrableMemory {
    private static final Path LIMITS = Path.of("/proc/self/limits");

    private static final Pattern MAX_LOCKED_MEMORY = Pattern.compile("^Max locked memory +(\\S+)", Pattern.MULTILINE);

    private static final Class<?> AUTOMATIC_SCOPE = Arena.ofAuto().scope().getClass();

    /** The scope of arrays, and of buffers that no arena allocated. */
    private static final Class<?> SCOPE_OF_ARRAYS =
            MemorySegment.ofArray(new byte[0]).scope().getClass();

    private static final String UNLIMITED = "unlimited";

    private static final long SMALLEST_PAGE = 4096;

    private RegistrableMemory() {}

    static void check(MemorySegment memory, Set<AccessFlag> access, VerbsArena arena) {
        checkMemory(memory);
        if (!hasKnownLife(memory, arena)) {
            throw new IllegalArgumentException("memory of " + memory.byteSize() + " bytes at 0x"
                    + Long.toHexString(memory.address()) + whoCouldFree(memory)
                    + " while the device uses it; take memory"
                    + " from the VerbsArena of the protection domain or from Arena.ofAuto(), with allocate or as the"
                    + " arena of FileChannel.map, and asByteBuffer where a buffer is needed; or call"
                    + " ProtectionDomain.registerUnsafe and keep the memory alive yourself");
        }
        checkAccess(memory, access);
    }

    /** Checks memory that the caller keeps alive. */
    static void checkMemory(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException(
                    "memory must be native, because the garbage collector moves memory on the heap;"
                            + " allocate it from the VerbsArena");
        }
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException(
                    "memory must not be empty; a pointer that came from native code has no size"
                            + " until it is reinterpreted");
        }
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("the arena of the memory is closed");
        }
    }

    static void checkAccess(MemorySegment memory, Set<AccessFlag> access) {
        checkAccess(access);
        if (memory.isReadOnly() && access.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException("memory must not be read-only when access contains LOCAL_WRITE");
        }
    }

    /**
     * Whether memory stays alive as long as its segment is referenced: memory of the same arena, of the global arena,
     * and of automatic arenas, which only the garbage collector frees. Unknown kinds of scope are not trusted.
     */
    static boolean hasKnownLife(MemorySegment memory, VerbsArena arena) {
        return livesAsLongAs(arena, memory) || memory.scope().getClass().equals(AUTOMATIC_SCOPE);
    }

    /** Like {@link #hasKnownLife}, for memory that is not kept reachable. */
    static boolean livesAsLongAs(VerbsArena arena, MemorySegment memory) {
        return arena.owns(memory) || memory.scope().equals(Arena.global().scope());
    }

    private static String whoCouldFree(MemorySegment memory) {
        return memory.scope().getClass().equals(SCOPE_OF_ARRAYS)
                ? " belongs to a direct buffer, whose owner could free it"
                : " belongs to another arena than the VerbsArena of the protection domain, and could be freed";
    }

    static void checkAccess(Set<AccessFlag> access) {
        boolean remoteChange = access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC);
        if (remoteChange && !access.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(
                    "access must contain LOCAL_WRITE with REMOTE_WRITE or REMOTE_ATOMIC: " + access);
        }
    }

    /**
     * Checks the address at which a region begins for work requests and peers.
     *
     * @param place the address or offset of its first byte in memory or in a buffer
     */
    static void checkAddress(long address, long place, long byteSize) {
        if (Long.compareUnsigned(address + byteSize - 1, address) < 0) {
            throw new IllegalArgumentException(
                    "a region of %d bytes must not begin at 0x%x, because it would extend beyond 64 bits"
                            .formatted(byteSize, address));
        }
        // The kernel requires equal offsets in a page, and no page is smaller.
        if (((address ^ place) & (SMALLEST_PAGE - 1)) != 0) {
            throw new IllegalArgumentException(
                    ("address 0x%x must have the same offset in a page as the memory at 0x%x;"
                                    + " allocate the memory with an alignment of 4096")
                            .formatted(address, place));
        }
    }

    /** Where to look for support of an access, or null if every device supports it. */
    static @Nullable String capability(Set<AccessFlag> access) {
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
                ? "a device on which peers can access memory, which some EFA devices do not allow; no capability shows it"
                : null;
    }

    /** Whether a device reports that it does not support an access, for which many drivers report EINVAL. */
    static boolean isBeyond(DeviceAttributes device, Set<AccessFlag> access, boolean implicit) {
        OnDemandPagingCapabilities demand = device.onDemandPaging();
        Set<DeviceCapability> has = device.capabilities();
        return (access.contains(AccessFlag.ON_DEMAND) && !demand.explicit())
                || (implicit && !demand.implicit())
                || (access.contains(AccessFlag.FLUSH_GLOBAL) && !has.contains(DeviceCapability.FLUSH_GLOBAL))
                || (access.contains(AccessFlag.FLUSH_PERSISTENT) && !has.contains(DeviceCapability.FLUSH_PERSISTENT));
    }

    /** What to do about a failed registration, or null. */
    static @Nullable String cure(int errno, MemorySegment memory, Set<AccessFlag> access) {
        return cure(errno, memory, access, lockedMemoryLimit());
    }

    static @Nullable String cure(int errno, MemorySegment memory, Set<AccessFlag> access, String limit) {
        if (errno == Errno.ENOMEM || errno == Errno.EAGAIN) {
            if (access.contains(AccessFlag.ON_DEMAND)) {
                return "ON_DEMAND pins no memory, so the device or the kernel has no room for another region";
            }
            String pins = "registering pins " + memory.byteSize()
                    + " bytes, and the limit of locked memory (RLIMIT_MEMLOCK) is " + limit;
            return pins
                    + (limit.equals(UNLIMITED)
                            ? "; there is not enough free memory, or the device has no room for another region"
                            : "; raise it with 'ulimit -l unlimited', in /etc/security/limits.conf, or"
                                    + " with LimitMEMLOCK=infinity in a systemd unit");
        }
        if (errno == Errno.EFAULT) {
            return "the pages cannot be pinned with this access; Linux before 6.2 pins no file that is mapped read-only,"
                    + " and since 6.5 it pins files for writing only when they are in memory, as on /dev/shm";
        }
        return null;
    }

    /** What to do about ENOMEM from the creation of a queue, whose memory is pinned. */
    static String cureOfTooMany(String objects) {
        return "the device has no more " + objects + ", or none of this size, or the limit of locked memory"
                + " (RLIMIT_MEMLOCK), " + lockedMemoryLimit() + ", is too low; see 'ulimit -l'";
    }

    /** The soft limit of this process, with its unit. */
    static String lockedMemoryLimit() {
        try {
            Matcher limit = MAX_LOCKED_MEMORY.matcher(Files.readString(LIMITS));
            if (limit.find()) {
                return limit.group(1).equals(UNLIMITED) ? UNLIMITED : limit.group(1) + " bytes";
            }
        } catch (IOException unknown) {
            // Reported below.
        }
        return "not known";
    }
}
