package org.rdmapanama.internal.libibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderDevice;

/** The query that is made where a driver does not know the extended one; Soft-RoCE knows both. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PlainQueryLabTest {
    @Test
    @Shows("ibv_query_device")
    void shouldReadWhatTheExtendedQueryReads() {
        NativeProvider provider = new NativeProvider();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assumeFalse(Context.open(arena).driverName().equals("soft"), "libibverbs does not have soft0");
        }
        List<ProviderDevice> devices = provider.devices();
        assertFalse(devices.isEmpty());
        ProviderContext context = provider.open(devices.get(0));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment plain = arena.allocate(ibv_device_attr.layout());
            MemorySegment extended = arena.allocate(ibv_device_attr_ex.layout());
            assertEquals(0, Libibverbs.queryDevice(context.address(), plain.address()));
            assertEquals(0, InlineVerbs.queryDeviceEx(context.address(), extended.address()));
            assertEquals(-1, ibv_device_attr_ex.orig_attr(extended).mismatch(plain));
        } finally {
            assertEquals(0, context.close());
        }
    }
}
