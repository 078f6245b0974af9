/**
 * EFA devices: {@link org.rdmapanama.efa.EfaDevice} creates SRD queue pairs and asks about what only such devices have; see
 * efadv(7).
 */
@NullMarked
package org.rdmapanama.efa;

import org.jspecify.annotations.NullMarked;
