package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.rdmapanama.ffm.internal.Errno.pointer;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;

/**
 * The exported functions of libibverbs that list devices; {@link Libibverbs} has the others. They are separate because every
 * process lists devices, while one that uses only soft0 calls none of the others: linking those takes an eighth of its start.
 */
final class DeviceFunctions {
    private static final MethodHandle GET_DEVICE_LIST = withErrno("ibv_get_device_list", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FREE_DEVICE_LIST = ofVoid("ibv_free_device_list", JAVA_LONG);
    private static final MethodHandle GET_DEVICE_GUID = plain("ibv_get_device_guid", JAVA_LONG, JAVA_LONG);
    private static final MethodHandle GET_DEVICE_INDEX = plain("ibv_get_device_index", JAVA_INT, JAVA_LONG);

    private DeviceFunctions() {}

    static MethodHandle ofVoid(String function, ValueLayout... arguments) {
        return NativeLibrary.IBVERBS.downcall(function, FunctionDescriptor.ofVoid(arguments));
    }

    static MethodHandle plain(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.IBVERBS.downcall(function, FunctionDescriptor.of(result, arguments));
    }

    static MethodHandle withErrno(String function, ValueLayout result, ValueLayout... arguments) {
        return NativeLibrary.IBVERBS.downcall(function, FunctionDescriptor.of(result, arguments), Errno.CAPTURE);
    }

    /** ibv_get_device_list. NULL and errno; *count, an int, is their number. */
    static long getDeviceList(long count) {
        return pointer(errno -> (long) GET_DEVICE_LIST.invokeExact(errno, count));
    }

    /** ibv_free_device_list. */
    static void freeDeviceList(long list) {
        try {
            FREE_DEVICE_LIST.invokeExact(list);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_get_device_guid. Never fails; the GUID is in network byte order. */
    static long getDeviceGuid(long device) {
        try {
            return (long) GET_DEVICE_GUID.invokeExact(device);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** ibv_get_device_index. -1 where the kernel gives devices no index. */
    static int getDeviceIndex(long device) {
        try {
            return (int) GET_DEVICE_INDEX.invokeExact(device);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
