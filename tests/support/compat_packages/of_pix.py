"""Image operations of dm-pix."""

import dm_pix as pix
import jax
import jax.numpy as jnp

image = jnp.linspace(0, 1, 8 * 8 * 3).reshape(8, 8, 3)
print(float(pix.adjust_brightness(image, 0.1).mean()))
print(*map(float, pix.rgb_to_hsv(image)[3, 4]))
print(float(pix.gaussian_blur(image, 1.0, 3).std()))
print(float(pix.flip_left_right(image)[0, 0, 0]), float(pix.rotate(image, 0.3).mean()))
print(float(pix.psnr(image, 0.9 * image)), float(pix.ssim(image, 0.9 * image, filter_size=5)))
print(float(pix.random_crop(jax.random.PRNGKey(0), image, (4, 4, 3)).mean()))
print(float(jax.grad(lambda x: pix.adjust_contrast(x, 2.0).var())(image).sum()))
