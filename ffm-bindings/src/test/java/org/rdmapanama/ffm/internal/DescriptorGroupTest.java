package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DescriptorGroupTest {
    private static boolean isReadable(DescriptorGroup group) {
        return Libc.awaitReadable(group.descriptor(), 0) > 0;
    }

    @Test
    void shouldBeReadableWhileAMemberIsUnlessItIsIgnored() {
        try (DescriptorEvents one = new DescriptorEvents();
                DescriptorEvents other = new DescriptorEvents();
                DescriptorGroup group = DescriptorGroup.of(
                        one.source().descriptor(), other.source().descriptor())) {
            assertNotNull(group);
            for (DescriptorEvents each : new DescriptorEvents[] {one, other}) {
                assertFalse(isReadable(group));
                each.add();
                assertTrue(isReadable(group));
                group.ignore();
                group.ignore();
                assertFalse(isReadable(group));
                assertTrue(group.watch());
                assertTrue(isReadable(group), "what came before it is watched");
                assertTrue(group.watch(), "it is watched already");
                assertEquals("it", each.take());
            }
        }
    }

    @Test
    void shouldNotTakeWhatIsNoDescriptor() {
        assertNull(DescriptorGroup.of(-1));
    }
}
