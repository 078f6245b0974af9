package org.rdmapanama.counts;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of the kernel, as they are and as they should not be. */
class KernelCountersTest {
    private static void write(Path folder, String name, String text) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve(name), text);
    }

    @Test
    void shouldReadAllCountersOfAPort(@TempDir Path folder) throws IOException {
        Path port = folder.resolve("mlx5_0/ports/1");
        write(port.resolve("counters"), "port_xmit_data", "123\n");
        write(port.resolve("counters"), "VL15_dropped", "N/A (no PMA)\n");
        write(port.resolve("counters"), "unicast_rcv_packets", "18446744073709551615\n");
        write(port.resolve("hw_counters"), "out_of_sequence", "7\n");
        write(port.resolve("hw_counters"), "lifespan", "12\n");
        write(folder.resolve("mlx5_0/ports/2"), "state", "4: ACTIVE\n");
        Files.createDirectories(folder.resolve("siw0/ports/1"));
        KernelCounters counters = new KernelCounters(folder);
        assertEquals(List.of("mlx5_0", "siw0"), counters.devices());
        assertEquals(List.of(1, 2), counters.ports("mlx5_0"));
        assertEquals(
                new TreeMap<>(Map.of("port_xmit_data", 123L, "unicast_rcv_packets", -1L, "out_of_sequence", 7L)),
                counters.read("mlx5_0", 1));
        assertEquals(Map.of(), counters.read("mlx5_0", 2));
        assertEquals(Map.of(), counters.read("siw0", 1));
    }

    @Test
    void shouldFindNothingWhereThereIsNothing(@TempDir Path folder) {
        KernelCounters counters = new KernelCounters(folder.resolve("missing"));
        assertEquals(List.of(), counters.devices());
        assertEquals(List.of(), counters.ports("mlx5_0"));
        assertEquals(Map.of(), counters.read("mlx5_0", 1));
    }
}
