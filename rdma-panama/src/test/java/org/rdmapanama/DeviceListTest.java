package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.internal.provider.NoRdmaException;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderDevice;
import org.rdmapanama.internal.provider.ProviderException;

class DeviceListTest {
    /** Has devices that cannot be opened. */
    private static final class FakeProvider extends Provider {
        private final List<String> names;

        FakeProvider(String... names) {
            this.names = List.of(names);
        }

        @Override
        public List<ProviderDevice> devices() {
            return names.stream()
                    .map(name -> new ProviderDevice(this, name, 1, 0, 0x1122_3344_5566_7788L, -1, "uverbs0"))
                    .toList();
        }

        @Override
        public ProviderContext open(ProviderDevice device) {
            throw new ProviderException("ibv_open_device", 13, "you may not");
        }

        @Override
        public ProviderContext at(long context) {
            throw new AssertionError("nobody asks for it");
        }
    }

    private static VerbsException thrownByName(DeviceList devices, String name) {
        return assertThrows(VerbsException.class, () -> devices.byName(name));
    }

    @Test
    void shouldFindDevicesByName() {
        DeviceList devices = DeviceList.query(new FakeProvider("mlx5_0", "mlx5_1"));
        assertEquals(2, devices.size());
        Device second = devices.byName("mlx5_1");
        assertEquals("mlx5_1", second.name());
        assertEquals(second, devices.get(1));
        assertEquals(0x1122_3344_5566_7788L, second.guid());
        assertEquals(-1, second.index());
        assertEquals(NodeType.CA, second.nodeType());
    }

    @Test
    void shouldListTheDevicesWhenANameIsUnknown() {
        VerbsException exception = thrownByName(DeviceList.query(new FakeProvider("mlx5_0", "mlx5_1")), "mlx5_2");
        assertEquals("ENODEV", exception.errnoName());
        assertTrue(exception.getMessage().contains("device 'mlx5_2'"), exception::getMessage);
        assertTrue(exception.getMessage().contains("mlx5_0, mlx5_1"), exception::getMessage);
    }

    @Test
    void shouldSayHowToAddADeviceWhenThereIsNone() {
        DeviceList none = DeviceList.query(new FakeProvider());
        assertTrue(none.isEmpty());
        String cure = thrownByName(none, "mlx5_0").cure();
        assertTrue(cure.contains("rdma link add"), cure);
        assertTrue(cure.contains("with rdma-soft on the path there is soft0"), cure);
    }

    @Test
    void shouldSayWhyADeviceCannotBeOpened() {
        Device device = DeviceList.query(new FakeProvider("mlx5_0")).get(0);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            VerbsException exception = assertThrows(VerbsException.class, () -> Context.open(arena, device));
            assertEquals(
                    "ibv_open_device failed: EACCES (13, permission denied) for device mlx5_0; you may not",
                    exception.getMessage());
        }
    }

    /** A machine whose kernel has no RDMA. */
    private static final class NoKernel extends Provider {
        @Override
        public List<ProviderDevice> devices() {
            throw new NoRdmaException("ibv_get_device_list", 38, "load the module ib_uverbs");
        }

        @Override
        public ProviderContext open(ProviderDevice device) {
            throw new AssertionError("nothing to open");
        }

        @Override
        public ProviderContext at(long context) {
            throw new AssertionError("nobody asks for it");
        }
    }

    private static List<String> names(Provider... providers) {
        return DeviceList.query(List.of(providers)).stream().map(Device::name).toList();
    }

    @Test
    void shouldListDevicesInTheOrderOfTheirProviders() {
        Provider kernel = new FakeProvider("rxe0", "siw0");
        Provider soft = new FakeProvider("soft0");
        assertEquals(List.of("rxe0", "siw0", "soft0"), names(kernel, soft));
        assertEquals(List.of("soft0"), names(new FakeProvider(), soft));
        DeviceList all = DeviceList.query(List.of(kernel, soft));
        assertEquals(soft, all.byName("soft0").providerDevice().provider());
        assertTrue(thrownByName(all, "soft1").getMessage().contains("rxe0, siw0, soft0"));
    }

    @Test
    void shouldPreferADeviceOfTheKernel() {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "it chooses");
        Provider soft = new FakeProvider("soft0");
        assertEquals(
                "mlx5_0",
                DeviceList.query(List.of(new FakeProvider("mlx5_0"), soft))
                        .preferred()
                        .name());
        assertEquals(
                "soft0",
                DeviceList.query(List.of(new FakeProvider(), soft)).preferred().name());
        assertEquals(
                "soft0",
                DeviceList.query(List.of(new NoKernel(), soft)).preferred().name());
    }

    @Test
    void shouldNotMindAKernelWithoutRdmaWhereThereIsAnotherDevice() {
        Provider soft = new FakeProvider("soft0");
        assertEquals(List.of("soft0"), names(new NoKernel(), soft));
        assertEquals(List.of("soft0"), names(soft, new NoKernel()));
        VerbsException none =
                assertThrows(VerbsException.class, () -> DeviceList.query(List.of(new NoKernel(), new FakeProvider())));
        assertEquals("load the module ib_uverbs", none.cure());
    }

    /** A machine whose devices cannot be listed, or opened, for some time. */
    private static final class Failing extends Provider {
        private final Provider later = new FakeProvider("mlx5_0");
        private final int errno;
        private int times;

        Failing(int errno, int times) {
            this.errno = errno;
            this.times = times;
        }

        @Override
        public List<ProviderDevice> devices() {
            if (times-- > 0) {
                throw new ProviderException("ibv_get_device_list", errno, "see why");
            }
            return later.devices();
        }

        @Override
        public ProviderContext open(ProviderDevice device) {
            throw new AssertionError("nothing to open");
        }

        @Override
        public ProviderContext at(long context) {
            throw new AssertionError("nobody asks for it");
        }
    }

    /** EMFILE, ENFILE, EACCES, ENOMEM, and ENOSYS for another reason than that there is no RDMA. */
    @ParameterizedTest
    @ValueSource(ints = {24, 23, 13, 12, 38})
    void shouldMindDevicesThatCannotBeListedThoughThereIsAnother(int errno) {
        Provider soft = new FakeProvider("soft0");
        Provider failing = new Failing(errno, 2);
        for (List<Provider> each : List.of(List.of(failing, soft), List.of(soft, failing))) {
            VerbsException exception = assertThrows(VerbsException.class, () -> DeviceList.query(each));
            assertEquals(errno, exception.errno());
            assertEquals("see why", exception.cure());
        }
        assertEquals(List.of("mlx5_0", "soft0"), names(failing, soft));
    }

    @Test
    void shouldFindADeviceThatIsNamedThoughOthersCannotBeListed() {
        Provider soft = new FakeProvider("soft0");
        Provider failing = new Failing(24, 3);
        List<Provider> both = List.of(failing, soft);
        assertEquals("soft0", DeviceList.find("soft0", both).name());
        // Nobody knows whether this one is there.
        VerbsException exception = assertThrows(VerbsException.class, () -> DeviceList.find("mlx5_0", both));
        assertEquals("EMFILE", exception.errnoName());
        assertEquals("mlx5_0", DeviceList.find("mlx5_0", both).name());
        assertEquals(
                "ENODEV",
                assertThrows(VerbsException.class, () -> DeviceList.find("mlx5_1", both))
                        .errnoName());
    }

    @Test
    void shouldSayWhyThereIsNoList() {
        VerbsException exception = assertThrows(VerbsException.class, () -> DeviceList.query(new NoKernel()));
        assertEquals("ENOSYS", exception.errnoName());
        assertEquals(
                "load the module ib_uverbs; with rdma-soft on the path there is soft0, a device in Java",
                exception.cure());
    }

    @Test
    void shouldQuoteTheName() {
        VerbsException exception = thrownByName(DeviceList.query(new FakeProvider("mlx5_0")), "");
        assertTrue(
                exception.getMessage().contains("for device ''; the devices present are mlx5_0"),
                exception::getMessage);
    }
}
