package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;

/** The commands devices, device-info and hello, compared with ibv_devices and ibv_devinfo. */
@Tag("lab")
class DeviceCommandsLabTest {
    @Test
    @NeedsKernelDevice("ibv_devices")
    void shouldListTheDevicesThatIbvDevicesLists() throws Exception {
        Run run = Run.start("devices");
        assertEquals(0, run.join(), run::toString);
        try (Program c = Program.start("ibv_devices")) {
            c.join();
            List<String> theirs = c.output()
                    .lines()
                    .skip(2)
                    .map(l -> l.strip().replaceAll("\\s+", " "))
                    .toList();
            List<String> ours = run.out()
                    .lines()
                    .skip(2)
                    // soft0 exists in this process only.
                    .filter(l -> !l.startsWith("soft0 "))
                    .map(l -> l.replaceAll("^(\\S+)\\s+(\\S+).*", "$1 $2").replace(":", ""))
                    .toList();
            assertEquals(theirs, ours);
        }
    }

    @Test
    @NeedsKernelDevice("ibv_devinfo")
    void shouldShowWhatIbvDevinfoShows() throws Exception {
        for (String option : new String[] {"", "-v"}) {
            List<String> arguments = new ArrayList<>(List.of("device-info", "-d", Lab.FIRST_DEVICE));
            List<String> command = new ArrayList<>(List.of("ibv_devinfo", "-d", Lab.FIRST_DEVICE));
            if (!option.isEmpty()) {
                arguments.add(option);
                command.add(option);
            }
            Run run = Run.start(arguments.toArray(String[]::new));
            assertEquals(0, run.join(), run::toString);
            try (Program c = Program.start(command.toArray(String[]::new))) {
                c.join();
                Map<String, String> ours = attributes(run.out());
                Map<String, String> theirs = attributes(c.output());
                // All attributes that both know, except two that the C program formats differently.
                theirs.keySet().retainAll(ours.keySet());
                theirs.keySet().removeAll(List.of("device_cap_flags_ex", "max_msg_sz"));
                // Headings of blocks of the C program that we print on one line.
                theirs.values().removeIf(String::isEmpty);
                assertTrue(theirs.size() >= (option.isEmpty() ? 15 : 55), theirs::toString);
                theirs.forEach((name, value) -> assertEquals(value, ours.get(name), name));
            }
        }
    }

    @Test
    void shouldShowTheGroupsOfCapabilities() throws Exception {
        Run run = Run.start("device-info", "-v", "-d", Lab.FIRST_DEVICE);
        assertEquals(0, run.join(), run::toString);
        Map<String, String> shown = attributes(run.out());
        for (String group : List.of(
                "odp_caps",
                "completion_timestamp_mask",
                "hca_core_clock",
                "tso_caps",
                "rss_caps",
                "max_wq_type_rq",
                "packet_pacing_caps",
                "raw_packet_caps",
                "tm_caps",
                "cq_mod_caps",
                "max_dm_size",
                "pci_atomic_caps.fetch_add",
                "phys_port_cnt_ex",
                "num_comp_vectors",
                "rate",
                "grh_required")) {
            assertTrue(shown.containsKey(group), () -> group + " is not in " + run);
        }
        assertTrue(run.out().contains("MEM_WINDOW_TYPE_2B"), run::toString);
        if (Lab.FIRST_DEVICE.equals("rxe0")) {
            assertEquals("not supported", shown.get("odp_caps"));
            assertEquals("none", shown.get("raw_packet_caps"));
            assertEquals(Integer.toString(Runtime.getRuntime().availableProcessors()), shown.get("num_comp_vectors"));
            assertTrue(shown.get("rate").endsWith(" gb/s"), run::toString);
            assertTrue(run.out().contains(", veth0"), run::toString);
        }
    }

    /** Returns the lines "name: value", normalized: without what we add after a GID. */
    private static Map<String, String> attributes(String output) {
        Map<String, String> attributes = new LinkedHashMap<>();
        for (String line : output.lines().toList()) {
            int colon = line.indexOf(':', line.contains("GID[") ? line.indexOf(']') : 0);
            if (line.contains("GID[")
                    || (colon > 0 && !line.substring(0, colon).strip().contains(" "))) {
                String value = line.substring(colon + 1).strip().replaceAll("(RoCE v\\d).*", "$1");
                attributes.put(line.substring(0, colon).strip(), value.toLowerCase(java.util.Locale.ROOT));
            }
        }
        return attributes;
    }

    @Test
    void shouldExplainWhatIsNotThere() throws Exception {
        assertFailed(Run.start("device-info", "-d", "nosuch0"), "the devices present are");
        assertFailed(Run.start("device-info", "-d", Lab.FIRST_DEVICE, "-i", "9"), "has no port 9");
    }

    private static void assertFailed(Run run, String message) throws InterruptedException {
        assertEquals(1, run.join(), run::toString);
        assertEquals(1, run.err().lines().count(), run::toString);
        assertTrue(run.err().contains(message), run::toString);
    }

    @Test
    void shouldShowWhereItFailedWhenAsked() throws Exception {
        Run run = Run.start("device-info", "-d", "nosuch0", "--stacktrace");
        assertEquals(1, run.join(), run::toString);
        assertTrue(run.err().contains("\tat org.rdmapanama"), run::toString);
    }

    @Test
    void shouldGreet() throws Exception {
        Run run = Run.start("hello");
        assertEquals(0, run.join(), run::toString);
        assertEquals("SUCCESS: hello, verbs", run.out().strip());
    }
}
