//! `render`: a scene, or the shaders of a pipeline, to a picture.

use crate::options::OutputArgs;
use crate::picture;
use crate::pipeline::{DrawArgs, DrawOptions};
use crate::progress::watched;
use crate::report::{Failure, Outcome, Report};
use crate::scene::{self, DrawReport, Scene};
use serde::Serialize;
use shaderjit::Backend;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// A scene: a target, a camera, and draws whose meshes, constants, textures and states are given by name
    #[arg(value_name = "SCENE.toml", conflicts_with = "vs")]
    scene: Option<PathBuf>,
    /// Draw the scene so often while the camera turns once about its target, as one moving picture
    #[arg(long, value_name = "FRAMES", requires = "scene", value_parser = clap::value_parser!(u32).range(1..=1000))]
    turntable: Option<u32>,
    /// Print what each draw of the scene has done, and how long each stage took
    #[arg(long, requires_all = ["scene", "output"])]
    stats: bool,
    /// Print that as JSON
    #[arg(long, requires = "stats")]
    json: bool,
    #[command(flatten)]
    draw: DrawOptions,
    /// Which target is the picture. Its components are clamped to 0 to 1; what nothing was drawn to is transparent
    #[arg(long, value_name = "N", default_value_t = 0)]
    target: usize,
    #[command(flatten)]
    output: OutputArgs,
}

/// Frames of a moving picture in a second.
const FRAMES_PER_SECOND: u16 = 20;

pub fn run(args: &Args) -> Outcome {
    match &args.scene {
        Some(path) => watched(|progress| args.scene(path, progress)),
        None => watched(|progress| args.draw(progress)),
    }
}

impl Args {
    fn draw(&self, progress: &(dyn Fn(f32) + Sync)) -> Outcome {
        let (pipeline, compile, bind, groups) =
            (&self.draw.pipeline, &self.draw.compile, &self.draw.bind, &self.draw.groups);
        let (geometry, instances, backend) = (self.draw.gs.as_ref(), self.draw.instances, Backend::Jit);
        let engine = &self.draw.compile.engine(None)?;
        let draw = DrawArgs { pipeline, compile, bind, groups, geometry, instances, engine, backend, tracer: None };
        let frame = draw.draw(progress)?;
        let layout = frame.targets.layout();
        if layout.format(self.target).is_none() {
            let what = format_args!("--target {}: the pixel shader writes no such target", self.target);
            return Err(Failure::usage(what));
        }
        self.output.write(picture::png(layout.size(), 1, FRAMES_PER_SECOND, |_| Ok(frame.picture(self.target)))?)
    }

    fn scene(&self, path: &Path, progress: &(dyn Fn(f32) + Sync)) -> Outcome {
        // The scene's paths begin at its folder, that of the picture where the command was given.
        let output = self.output.absolute()?;
        let scene = Scene::read(path, &self.draw.compile)?;
        let count = self.turntable.unwrap_or(1);
        let mut reports = Vec::new();
        let file = picture::png(scene.size(), count, FRAMES_PER_SECOND, |number| {
            let part = |done: f32| progress((number as f32 + done) / count as f32);
            let (frame, report) = scene.frame(number as f32 / count as f32, &part)?;
            reports.push(report);
            Ok(frame)
        })?;
        let written = output.write(file)?;
        Ok(if self.stats { stats(&reports, self.json) } else { written })
    }
}

/// What the draws of each frame have done.
fn stats(frames: &[Vec<DrawReport>], json: bool) -> Report {
    #[derive(Serialize)]
    struct Frames<'a> {
        frames: &'a [Vec<DrawReport>],
    }
    if json {
        return Report::json(&Frames { frames });
    }
    let heading = |number: usize| if frames.len() > 1 { format!("frame {number}\n") } else { String::new() };
    let text = frames.iter().enumerate().map(|(number, reports)| heading(number) + &scene::table(reports));
    Report::text(text.collect::<String>() + scene::LEGEND)
}
