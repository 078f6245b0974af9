package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.rdmapanama.ffm.internal.AbstractName;
import org.rdmapanama.ffm.internal.Errno;

@EnabledOnOs(OS.LINUX)
@SuppressWarnings("try") // some are closed earlier
class PortClaimTest {
    private static final int SPACE = 0x106;

    /** Nobody else on this machine takes it: tests of several copies may run at once. */
    private static final int PORT = 100_000 + (int) ProcessHandle.current().pid();

    @Test
    void shouldClaimAllAddressesOrNone() throws Exception {
        InetAddress first = InetAddress.getByName("192.0.2.1");
        InetAddress second = InetAddress.getByName("192.0.2.2");
        try (PortClaim one = new PortClaim();
                PortClaim both = new PortClaim();
                PortClaim other = new PortClaim()) {
            assertEquals(0, one.take(SPACE, PORT, List.of(second)));
            assertEquals(-Errno.EADDRINUSE, both.take(SPACE, PORT, List.of(first, second)));
            // The first address was given back.
            assertEquals(0, other.take(SPACE, PORT, List.of(first)));
            other.close();
            one.close();
            assertEquals(0, both.take(SPACE, PORT, List.of(first, second)));
            // Other ports and port spaces are others.
            assertEquals(0, one.take(SPACE + 1, PORT, List.of(first)));
            assertEquals(0, one.take(SPACE, PORT + 1, List.of(first)));
        }
    }

    @Test
    void shouldRefuseNamesThatAreTooLong() {
        String longest = ("name of process " + ProcessHandle.current().pid() + " ")
                .repeat(10)
                .substring(0, 107);
        int taken = AbstractName.take(longest);
        assertTrue(taken >= 0, () -> "errno " + -taken);
        AbstractName.release(taken);
        assertThrows(IllegalArgumentException.class, () -> AbstractName.take(longest + "x"));
    }
}
