package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;

/**
 * The devices that the lab tests use: those that {@link Lab} names, with the GID of the environment variable
 * RDMA_GID_INDEX. They may be {@code soft0}, which needs no lab.
 */
public final class LabDevices {
    private static final String CHOSEN_GID = Lab.environment("RDMA_GID_INDEX");

    private LabDevices() {}

    /** Whether these are the lab's own devices, of which the tests know everything. */
    public static boolean areSoftRoce() {
        return Lab.isInLab();
    }

    /** Whether the kernel and libibverbs know these devices, as all but those that live in this process. */
    public static boolean areNative() {
        return areSoftRoce() || isNative(first());
    }

    public static boolean isNative(Device device) {
        return Lab.isInKernel(device.name());
    }

    /** Those of all devices that C programs list as well. */
    public static List<Device> ofTheKernel() {
        return DeviceList.query().stream().filter(LabDevices::isNative).toList();
    }

    /** Whether nobody else uses these devices, and the tests know what they have. */
    public static boolean areOurs() {
        return areSoftRoce() || !areNative();
    }

    /** Fails the test when the device is not there. */
    public static Device first() {
        return DeviceList.query().byName(Lab.FIRST_DEVICE);
    }

    /** Fails the test when the device is not there. */
    public static Device second() {
        return DeviceList.query().byName(Lab.SECOND_DEVICE);
    }

    /** How queue pairs of these devices connect: quick to notice a dead peer, because tests wait for it. */
    public static ConnectOptions connectOptions() {
        ConnectOptions options = new ConnectOptions().timeout(14).retryCount(6);
        return CHOSEN_GID == null ? options : options.gidIndex(Integer.parseInt(CHOSEN_GID));
    }

    /** The GID index of a device, which C programs must be told, while ours choose it themselves. */
    public static String gidIndex(String device) {
        if (CHOSEN_GID != null) {
            return CHOSEN_GID;
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, DeviceList.query().byName(device));
            return context.preferredGid(1)
                    .map(entry -> Integer.toString(entry.index()))
                    .orElse("0");
        }
    }

    /** Skips the test, visibly, where it changes the lab itself, which is nothing to do to a machine with hardware. */
    public static void assumeSoftRoce(String why) {
        assumeTrue(areSoftRoce(), () -> Lab.FIRST_DEVICE + " is not a device of the lab: " + why);
    }

    /** Skips the test, visibly, where it does what is nothing to do to a device that others use or that is not known. */
    public static void assumeOurs(String why) {
        assumeTrue(areOurs(), () -> Lab.FIRST_DEVICE + " is not a device of the lab: " + why);
    }

    /** Skips the test, visibly, where it looks at what only the kernel and C programs can say of a device. */
    public static void assumeNative(String what) {
        assumeTrue(areNative(), () -> Lab.FIRST_DEVICE + " is in this process only: there is no " + what);
    }

    /** Skips the test, visibly, where it compares with what other programs, or the kernel, say of a device. */
    public static void assumeSeenByPrograms(String what) {
        assumeTrue(
                areNative() && !Lab.isCard(), () -> Lab.FIRST_DEVICE + " is in this process only: there is no " + what);
    }

    /** Skips the test, visibly, where it waits or looks by file descriptors. */
    public static void assumeHasDescriptors() {
        assumeNative("file descriptor");
    }

    /** Skips the test, visibly, where functions of the test take the place of a driver's, which libibverbs calls. */
    public static void assumeHasDriver() {
        assumeSeenByPrograms("driver of libibverbs whose functions could be replaced");
    }

    /** Skips the test, visibly, when a device lacks something. Soft-RoCE lacks none of what the tests ask for. */
    public static void assumeHas(boolean capability, String what) {
        if (areSoftRoce() && !capability) {
            fail("Soft-RoCE has " + what + ", but it was not found");
        }
        assumeTrue(capability, () -> Lab.FIRST_DEVICE + " has no " + what);
    }
}
