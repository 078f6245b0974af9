package org.rdmapanama.cards;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * The files that libibverbs reads below {@code /sys}, in another folder, which the environment variable SYSFS_PATH names:
 * one device for each card, with the GIDs of soft0.
 */
final class SysfsTree {
    /** Mellanox's, as PCI has it. */
    static final int VENDOR_ID = 0x2c9;

    static final int PART_ID = 0x1017;

    /** Length of the GID table of a port: more entries than soft0 has. */
    static final int GID_TABLE = 64;

    private SysfsTree() {}

    static void write(Path root, List<Card> cards, ProviderContext soft) {
        try {
            file(root.resolve("class/infiniband_verbs/abi_version"), "6");
            for (int i = 0; i < cards.size(); i++) {
                write(root, cards.get(i), i, soft);
            }
        } catch (IOException ex) {
            throw new UncheckedIOException(ex);
        }
    }

    private static void write(Path root, Card card, int number, ProviderContext soft) throws IOException {
        Path verbs = root.resolve("class/infiniband_verbs/uverbs" + number);
        file(verbs.resolve("ibdev"), card.name());
        // Of /dev/null, which takes the place of the device file.
        file(verbs.resolve("dev"), "1:3");
        file(verbs.resolve("abi_version"), Integer.toString(card.abiVersion()));

        Path device = root.resolve("class/infiniband").resolve(card.name());
        file(device.resolve("node_type"), card.nodeType());
        file(device.resolve("node_guid"), "0205:5eff:fe00:000" + number);
        file(device.resolve("sys_image_guid"), "0205:5eff:fe00:000" + number);
        file(device.resolve("fw_ver"), "14.32.1010");
        file(device.resolve("hca_type"), "fake");
        file(device.resolve("board_id"), "FAKE0000000001");
        file(device.resolve("device/modalias"), card.modalias());
        Path port = device.resolve("ports/1");
        file(port.resolve("link_layer"), card.linkLayer());
        file(port.resolve("state"), "4: ACTIVE");
        file(port.resolve("phys_state"), "5: LinkUp");
        file(port.resolve("lid"), "0x0");
        file(port.resolve("pkeys/0"), "0xffff");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = arena.allocate(ibv_gid_entry.layout(), GID_TABLE);
            int count = soft.queryGidTable(entries.address(), GID_TABLE);
            for (int i = 0; i < card.gidTable(); i++) {
                MemorySegment entry = entries.asSlice(i * ibv_gid_entry.sizeof(), ibv_gid_entry.layout());
                file(port.resolve("gids/" + i), text(ibv_gid_entry.gid(entry)));
                file(port.resolve("gid_attrs/types/" + i), card.gidType());
                if (i < count && card.linkLayer().equals("Ethernet")) {
                    file(port.resolve("gid_attrs/ndevs/" + i), "lo");
                }
            }
        }
    }

    private static String text(MemorySegment gid) {
        byte[] bytes = gid.asSlice(0, 16).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < bytes.length; i += 2) {
            text.append(i == 0 ? "" : ":").append(HexFormat.of().formatHex(bytes, i, i + 2));
        }
        return text.toString();
    }

    private static void file(Path path, String text) throws IOException {
        Files.createDirectories(path.getParent());
        Files.writeString(path, text + "\n");
    }
}
